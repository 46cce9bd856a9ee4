"""A partition explained: reasons as text, and a picture."""
