"""The host's side: runs a whole program file, machine steps and CPU parts, on any engine."""
