"""The schedule: what is decided of a program, as data that is written and read."""
