"""Lowers one operation for the machine: its beats, its rows, its parameter blocks and its instructions."""
