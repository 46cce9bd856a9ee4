"""Which operations can run together."""
