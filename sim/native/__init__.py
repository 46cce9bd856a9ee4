"""Libraries in C++ of what is also written in Python, for speed alone: both find the same, in every bit."""
