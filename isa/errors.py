"""The base of every error that a user of Tilewright can meet."""


class TilewrightError(Exception):
    """Something the user gave cannot be used; the message names the thing, its value and the remedy."""


def printable(text: str) -> str:
    """Names come from files: what would end a line or command a terminal is escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
