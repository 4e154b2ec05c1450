"""Grants: the rights of the sender of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from graphwright.constraints import Checked, OneOf

SCOPES = ("read", "write", "admin")
"""Scopes of a key, each with the rights of the previous ones."""


@dataclass(frozen=True)
class Grant(Checked):
    """Rights of one request.

    `key_id`: id of the key, None without one. `name`: name of its holder, for the audit log. `scope`: one
    of SCOPES. `indexes`: names of the visible indexes; None is all.

    >>> grant = Grant("k1", "wiki page", "write", ("wiki",))
    >>> grant.may("read", "wiki"), grant.may("admin", "wiki"), grant.may("read", "mail")
    (True, False, False)
    """

    key_id: str | None
    name: str
    scope: Annotated[str, OneOf(*SCOPES)]
    indexes: tuple[str, ...] | None = None

    def sees(self, index: str) -> bool:
        """Return whether an index is visible."""
        return self.indexes is None or index in self.indexes

    def may(self, scope: str, index: str | None = None) -> bool:
        """Return whether the grant includes a scope, and the index, if one is given, is visible."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope) and (index is None or self.sees(index))


LOCAL = Grant(None, "local", "admin")
"""Grant of every request to a loopback server without keys."""
