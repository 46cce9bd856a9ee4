"""Optimus: all connected groups, off line and on line, the strategies that it compares with, and its own costs."""
