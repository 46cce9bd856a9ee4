"""Explains a partition: reasons as text, and a picture."""
