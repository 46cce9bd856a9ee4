"""The passes over XGraph, one per file."""
