"""The base of every error that a user of Tilewright can meet."""


class TilewrightError(Exception):
    """Something the user gave cannot be used; the message names the thing, its value and the remedy."""
