"""The activity of a program, instruction by instruction: times, causes of waits, bytes, memory."""
