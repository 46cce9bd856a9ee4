"""The version: the wheel takes it from here."""

VERSION = "0.1.0"
