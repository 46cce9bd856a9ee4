"""What a program does, instruction by instruction: times, causes of waits, bytes, memory."""
