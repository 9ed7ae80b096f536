"""Where tasks are kept."""

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from dragoman.errors import ConfigurationError
from dragoman.ports.store import Store

__all__ = ["file_of", "open_store"]

_FORMS = "`memory`, `sqlite:///relative.db` or `sqlite:////absolute.db`"


def file_of(place: str) -> Path:
    """The file of a SQLite store that is named by its URL or its path.

    Raises:
        ConfigurationError: the URL is of something else.
    """
    return Path(open_store(place, owner="").description if place.startswith("sqlite:") else place)


def open_store(url: str, *, owner: str) -> Store:
    """The store that a URL names, not opened yet; `owner` is the agent's name.

    `sqlite:` URLs take `?synchronous=full` (the default), `normal` or `off`.

    Raises:
        ConfigurationError: no store has such a URL.
    """
    if url == "memory":
        from dragoman.stores.memory import MemoryStore

        return MemoryStore()
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ConfigurationError(f"{url!r} is no store: give {_FORMS}") from error
    named = parts.path.startswith("/") and not parts.path.endswith("/")
    if parts.scheme != "sqlite" or parts.netloc or parts.fragment or not named:
        raise ConfigurationError(f"{url!r} is no store: give {_FORMS}")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = options.keys() - {"synchronous"}
    if unknown:
        raise ConfigurationError(f"{url!r}: a SQLite store has no option {', '.join(sorted(unknown))}")
    from dragoman.stores.sqlite import SqliteStore

    return SqliteStore(
        Path(unquote(parts.path[1:])), owner=owner, synchronous=options.get("synchronous", "full").lower()
    )
