"""Names in other scripts, as what is looked up: labels that begin with `xn--`."""

import unicodedata

from dragoman.ports.webhook import AddressRefused

__all__ = ["ascii_name"]

PREFIX = "xn--"


def ascii_name(name: str) -> str:
    """The name in lower case and ASCII.

    Labels in other scripts are taken in their plain form alone: what readers would fold into something else (full-width
    letters and digits, other dots, capitals, ligatures) is refused, and so are `xn--` labels that hide such.

    Raises:
        AddressRefused: a label is none of these.
    """
    return ".".join(map(_label, name.split(".")))


def _label(label: str) -> str:
    if not label.isascii():
        return _encoded(label)
    label = label.lower()
    if label.startswith(PREFIX) and not _is_plain(_hidden(label.removeprefix(PREFIX))):
        raise AddressRefused("The host has an xn-- label that is none, or hides characters that are read as others")
    return label


def _encoded(label: str) -> str:
    from encodings import idna

    try:
        if _is_plain(label) and idna.nameprep(label) == label:
            return idna.ToASCII(label).decode("ascii")
    except UnicodeError:
        pass  # too long, or forbidden in names
    raise AddressRefused("The host has characters that are read as others: write it in its xn-- form")


def _hidden(punycode: str) -> str:
    try:
        return punycode.encode("ascii").decode("punycode")
    except UnicodeError:
        return ""


def _is_plain(label: str) -> bool:
    """Letters, marks and digits, some of them not ASCII, and all in the one form in which they are compared."""
    fit = all(char in "-_" or unicodedata.category(char)[0] in "LMN" for char in label)
    return fit and not label.isascii() and unicodedata.normalize("NFKC", label) == label
