"""Instructions before they are encoded: hazards between them, their order, and the tokens that keep it."""
