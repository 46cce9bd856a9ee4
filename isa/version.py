"""What a driver asks a machine first: which instructions and which registers it has."""

from __future__ import annotations

ISA_VERSION = 6
"""Counts changes of the instruction set, and of the records that programs bring along. It is part of every configuration's
hash: a program of another version is refused."""
HARDWARE_VERSION = 3
"""Counts changes of the register map and of what a driver sees of the machine."""
