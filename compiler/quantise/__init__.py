"""Turns a float model into a quantised one."""
