"""What the machine does for one operation: beats, rows, parameter blocks, instructions."""
