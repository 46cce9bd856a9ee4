"""On-chip memories: the banked feature-map buffer and the parameter memories."""
