"""Code generation: groups of operations to instructions, with every access they make."""
