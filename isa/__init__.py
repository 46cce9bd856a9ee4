"""The contract: machine configuration, instruction set, assembler, program file."""
