"""The face: command line and Python API."""
