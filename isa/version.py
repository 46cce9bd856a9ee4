"""The versions that a driver asks a machine for first: those of its instructions and its registers."""

from __future__ import annotations

ISA_VERSION = 6
"""The version of the instruction set, and of the records that programs bring along. It is part of every configuration's hash,
so a program of another version is refused."""
HARDWARE_VERSION = 3
"""The version of the register map and of what a driver sees of the machine."""
