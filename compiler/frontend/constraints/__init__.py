"""What an operator must satisfy to run on the machine: small functions whose docstrings the user reads."""
