"""How a group runs: its passes, steps, places on chip, and what they cost."""
