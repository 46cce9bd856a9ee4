"""Plans how a group runs: its passes, its steps, its places on chip, and their cost."""
