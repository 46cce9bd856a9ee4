"""The schedule: the decisions about a program, as data that is written and read."""
