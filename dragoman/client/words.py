"""What cards say, in the words of an error."""

__all__ = ["shown"]

LONGEST = 200


def shown(text: str, most: int = LONGEST) -> str:
    """A beginning of what somebody else wrote, of `most` characters, fit to be printed."""
    beginning = text if len(text) <= most else f"{text[: most - 3]}..."
    return "".join(char if char.isprintable() else "?" for char in beginning)
