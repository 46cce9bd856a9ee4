"""Tables of the five papers beside ours, measured when they are asked for: ``python -m bench.papers optimus``."""
