"""From a float model to a quantised one."""
