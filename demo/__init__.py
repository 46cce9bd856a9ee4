"""The demo: a small network for handwritten digits, trained here."""
