"""Instructions before they are encoded: the hazards between them, their order, and the tokens that keep it."""
