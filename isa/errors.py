"""The base of every error that a user of Tilewright can meet."""


class TilewrightError(Exception):
    """Something that the user gave cannot be used. The message names the thing, its value and the remedy."""


def printable(text: str) -> str:
    """The text with characters escaped that could end a line or command a terminal, since names come from files."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
