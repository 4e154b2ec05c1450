"""Addresses of servers of language models."""

from __future__ import annotations

from urllib.parse import urlsplit

from graphwright.errors import OptionError

OPENAI_URL = "https://api.openai.com/v1"
"""Address of the default server."""
_MAX_CHARACTERS = 2_000


def checked_address(url: str) -> str:
    """Return the address of a server without a slash at its end.

    Raises OptionError for anything else, and for an address with a user, a password or a query, which logs would show.

    >>> checked_address("http://localhost:11434/v1/")
    'http://localhost:11434/v1'
    """
    url = url.strip()
    if set(url) & set("@?#"):
        # Not shown: it may hold a password.
        raise OptionError(
            "base_url contains a user, a password or a query; keep the key in the environment: OPENAI_API_KEY, or pass "
            "it as api_key."
        )
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and _is_host(parts.hostname or "") and parts.port != 0
    except ValueError:
        valid = False
    if not valid or len(url) > _MAX_CHARACTERS or not url.isprintable() or " " in url:
        raise OptionError(f"base_url is {url[:200]!r}; give an address such as http://localhost:11434/v1.")
    return url.rstrip("/")


def _is_host(name: str) -> bool:
    """Return whether a host name is valid. Raises UnicodeError, a ValueError, where it cannot be encoded."""
    if not name.isascii():
        import idna  # as httpx does

        name = idna.encode(name).decode()
    return bool(name.encode("idna"))
