"""Cost models as their papers have them, beside those of the planner: the cost of a group by their formulas."""
