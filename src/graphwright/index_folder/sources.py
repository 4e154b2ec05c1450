"""The source of a sync by its address: a folder, or what a connector reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from graphwright.data.connectors import Connector, other_connectors, scheme_of
from graphwright.errors import OptionError


def source_of(source: str | Path | Connector) -> Path | Connector:
    """Return a folder, or the connector of an address, unless a file has its name. Raises OptionError for others."""
    if isinstance(source, Path) or (isinstance(source, str) and (not scheme_of(source) or Path(source).exists())):
        return Path(source)
    if not isinstance(source, str):
        if isinstance(source, Connector):
            return source
        raise OptionError(f"{source!r} is no source. Give a folder, an address such as 's3://bucket', or a connector.")
    known = {**other_connectors(), **_connectors()}
    if scheme_of(source) not in known:
        raise OptionError(f"{source} has an unknown scheme; there are {', '.join(sorted(known))}.")
    return known[scheme_of(source)](source)


def _connectors() -> dict[str, Callable[[str], Connector]]:
    """Return the connectors of this package by scheme; they are imported here, as most syncs need none."""
    from graphwright.data.mailboxes import MessageSource
    from graphwright.data.site import WebSite
    from graphwright.remote.bucket import SCHEMES
    from graphwright.remote.bucket_files import BucketFiles

    return {
        **dict.fromkeys(("http", "https", "urls"), WebSite),
        **dict.fromkeys(("maildir", "mbox"), MessageSource),
        **dict.fromkeys(SCHEMES, BucketFiles),
    }
