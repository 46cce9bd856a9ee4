"""POOL: window operations that keep channels apart."""
