"""Finds the operations that can run together."""
