"""Questions that are asked of tables, as training reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tables import Rows

from graphwright.search.facts import Facts


class Asked(NamedTuple):
    """A question, its answers, and the tables that have them by the names of their types.

    `group`: what is left out together when accuracy is measured. `checks`: the same tables with other cells, as facts,
    and the answers that they have: a query is right only if it gives these too.
    """

    id: str
    source: str
    group: str
    question: str
    answers: list[str]
    tables: dict[str, Rows]
    checks: tuple[tuple[Facts, list[str]], ...] = ()


def named(tables: Iterable[tuple[str, Rows]]) -> dict[str, Rows]:
    """Return tables by their names, those of equal names numbered."""
    given: dict[str, Rows] = {}
    for name, table in tables:
        given[name if name not in given else f"{name} {len(given) + 1}"] = table
    return given
