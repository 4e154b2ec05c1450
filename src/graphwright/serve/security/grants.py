"""Grants: what the sender of a request may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from graphwright.constraints import Checked, OneOf

SCOPES = ("read", "write", "admin")
"""Scopes of a key, each with the rights of those before it."""


@dataclass(frozen=True)
class Grant(Checked):
    """Rights of one request.

    `key_id`: of the key or the token that was sent; None without one. `name`: of its holder, for the audit log.
    `scope`: one of SCOPES. `indexes`: names of the indexes that it sees; None is all of them.

    >>> grant = Grant("k1", "wiki page", "write", ("wiki",))
    >>> grant.may("read", "wiki"), grant.may("admin", "wiki"), grant.may("read", "mail")
    (True, False, False)
    """

    key_id: str | None
    name: str
    scope: Annotated[str, OneOf(*SCOPES)]
    indexes: tuple[str, ...] | None = None

    def sees(self, index: str) -> bool:
        """Return whether an index of this name exists for the holder."""
        return self.indexes is None or index in self.indexes

    def may(self, scope: str, index: str | None = None) -> bool:
        """Return whether the scope is wide enough, and the index, if one is given, is visible."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope) and (index is None or self.sees(index))


LOCAL = Grant(None, "local", "admin")
"""Grant of every request to a server on loopback that has no keys."""
