"""Random legal programs: generated, run on two engines, and shrunk when the engines disagree."""
