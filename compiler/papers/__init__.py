"""Cost models as their papers have them, beside those of our planner: what a group costs by their formulas."""
