"""Libraries in C++ of code that is also written in Python, for speed alone. Both find the same in every bit."""
