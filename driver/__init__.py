"""The driver for firmware, in C99: its sources, and what writes them out."""
