"""From a graph and a choice of groups to a program."""
