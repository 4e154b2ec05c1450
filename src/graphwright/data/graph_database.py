"""Graph databases that speak Bolt, such as Neo4j: their nodes and relationships as rows, and queries in Cypher.

Rows have the form of APOC's export (`apoc.export.json`), so that a database is imported as such a file is. The driver
pulls the rows of one query in pages, within a read transaction, so that neither side holds more than a page, and each
row is read once. Queries that continue after the last id of a page would each scan all nodes, since no index orders
ids, and some databases compare ids otherwise than they sort them.
"""

from __future__ import annotations

import gzip
import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from graphwright.data.decoding import lines
from graphwright.data.graph_files.property_graphs import is_vector
from graphwright.errors import DataError, OptionError, check_installed

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
"""Schemes of addresses, as the driver names them: plain, encrypted, or encrypted by a certificate of one's own."""
MAX_ROWS = 1_000  # maximum number of rows of a query
QUERY_SECONDS = 60.0  # time after which a query is ended
_PAGE = 1_000  # rows that the driver asks for at a time
_MATCH = {"node": "MATCH (x)", "relationship": "MATCH ()-[x]->()"}


def is_database(address: object) -> bool:
    """Return whether a text is the address of a graph database rather than a path or another address."""
    return isinstance(address, str) and address.partition("://")[0] in SCHEMES and "://" in address


@dataclass(frozen=True)
class DatabaseRows:
    """Rows of a query in Cypher or SPARQL. `more`: whether the result has more rows than were read."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    more: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the columns, the rows, and whether there are more."""
        return {"columns": list(self.columns), "rows": [list(row) for row in self.rows], "more": self.more}


@dataclass(frozen=True)
class GraphDatabase:
    """A graph database, by its address, such as `neo4j://localhost:7687`, and its name; by default the server's own.

    The user is `user`, else the variable NEO4J_USERNAME, else neo4j. The password is that of NEO4J_PASSWORD; without
    one nobody is logged in. Needs the extra `neo4j`.
    """

    address: str
    database: str | None = None
    user: str | None = None

    def __post_init__(self) -> None:
        if not is_database(self.address):
            raise OptionError(f"{self.address!r} is not the address of a graph database: {', '.join(SCHEMES)}://HOST.")
        if not re.fullmatch(r"[^:]+://(\[[\w:.%]+\]|[^\s:/?#@\[\]]+)(:\d{1,5})?", self.address):
            raise OptionError(
                f"an address is {self.address.partition('://')[0]}://HOST or with :PORT, without a path, a user or a "
                f"password. Give the database by --database, the user by --user or NEO4J_USERNAME, and the password by "
                f"NEO4J_PASSWORD."
            )

    def __str__(self) -> str:
        return self.address if self.database is None else f"{self.address} ({self.database})"

    def read(self, target: Path, known: Changed | None = None, report: Report = lambda work, done, total: None) -> int:
        """Write all rows to a packed file of JSON lines, nodes first; return how many were fetched.

        `known`: rows that were read before; of these only the changed ones are fetched again. Relationships of nodes
        that came into being meanwhile are left out. Raises DataError if the database cannot be read to the end.
        """
        nodes, fetched = set[str](), 0
        with self._transaction() as transaction, gzip.open(target, "wt", encoding="utf-8", compresslevel=3) as file:
            for kind in _MATCH:
                reading = _Reading(transaction, kind, known)
                total = transaction.run(f"{_MATCH[kind]} RETURN count(x) AS n").single()["n"]
                for number, row in enumerate(reading.rows()):
                    if number % _PAGE == 0:
                        report(f"read {kind}s", number, total)
                    if kind == "node":
                        nodes.add(row["id"])
                    elif row["start"]["id"] not in nodes or row["end"]["id"] not in nodes:
                        continue
                    file.write(json.dumps(row, sort_keys=True) + "\n")
                fetched += reading.fetched
                if not nodes:
                    raise DataError(f"{self} has no node; nothing was changed.")
        return fetched

    def last_change(self, changed_by: str) -> object:
        """Return the latest value of a property over all nodes and relationships, as JSON; None if none has it."""
        with self._transaction() as transaction:
            queries = [f"{match} RETURN max(x.{_quoted(changed_by)}) AS last" for match in _MATCH.values()]
            values = [value for query in queries if (value := transaction.run(query).single()["last"]) is not None]
        try:
            return _encoded(max(values)) if values else None
        except TypeError as error:
            raise DataError(f"{self}: {changed_by} has values of different types, such as {values}.") from error

    def query(self, cypher: str) -> DatabaseRows:
        """Run a query in Cypher that only reads, and return its first MAX_ROWS rows.

        Raises DataError for a query that the database refuses, or that takes longer than QUERY_SECONDS. What a query
        changes is undone, and raises DataError too.
        """
        with self._transaction(QUERY_SECONDS) as transaction:
            result = transaction.run(cypher)
            rows = [[plain(value) for value in record.values()] for record in islice(result, MAX_ROWS)]
            columns, more = result.keys(), result.peek() is not None
            counters = result.consume().counters
            if counters.contains_updates or counters.contains_system_updates:
                raise DataError(f"{self}: the query changes the database, which was undone; give one that only reads.")
        return DatabaseRows(columns, rows, more)

    @contextmanager
    def _transaction(self, seconds: float | None = None) -> Iterator[Any]:
        """Yield a read transaction, which is never committed; `seconds`: its time limit."""
        check_installed("neo4j", "neo4j", self)
        import neo4j
        from neo4j.exceptions import AuthError, ClientError, DriverError, Neo4jError

        log = logging.getLogger("neo4j")
        if not log.hasHandlers():  # or Python would print on stderr what is raised here as an error
            log.addHandler(logging.NullHandler())
        user, password = self.user or os.environ.get("NEO4J_USERNAME"), os.environ.get("NEO4J_PASSWORD")
        if self.user is not None and password is None:
            raise OptionError(f"the user {self.user!r} needs a password; set the variable NEO4J_PASSWORD.")
        auth = None if password is None else (user or "neo4j", password)
        try:
            with (
                neo4j.GraphDatabase.driver(self.address, auth=auth) as driver,
                driver.session(
                    database=self.database, default_access_mode=neo4j.READ_ACCESS, fetch_size=_PAGE
                ) as session,
            ):
                transaction = session.begin_transaction(timeout=seconds)
                with transaction:
                    yield transaction
                    transaction.rollback()
        except AuthError as error:
            raise DataError(
                f"{self} refused the user {auth[0] if auth else '(none)'!r} ({_said(error)}). Set NEO4J_USERNAME and "
                f"NEO4J_PASSWORD."
            ) from error
        except ClientError as error:
            raise DataError(f"{self} refused a query: {_said(error)}") from error
        except (DriverError, Neo4jError) as error:
            raise DataError(
                f"{self} cannot be read ({_said(error)}). Check that the server runs there; nothing was changed."
            ) from error


Report = Callable[[str, int, int], None]  # called with the name of the work, the rows done, and all


@dataclass(frozen=True)
class Changed:
    """Rows that were read before: their file, the property that holds the time of a change, and the last value."""

    rows: Path
    changed_by: str
    since: object


@dataclass
class _Reading:
    """The rows of nodes or relationships in a transaction. `fetched`: how many came from the database so far."""

    transaction: Any
    kind: str
    known: Changed | None
    fetched: int = 0

    def rows(self) -> Iterator[dict[str, Any]]:
        return self._fetch() if self.known is None else self._updated(self.known)

    def _fetch(self, where: str = "", **parameters: object) -> Iterator[dict[str, Any]]:
        for record in self.transaction.run(f"{_MATCH[self.kind]} {where} RETURN x", parameters):
            self.fetched += 1
            yield plain(record["x"])

    def _updated(self, known: Changed) -> Iterator[dict[str, Any]]:
        """Yield known rows that still exist, and new ones; in place of changed ones, or without property, the new."""
        ids = self.transaction.run(f"{_MATCH[self.kind]} RETURN elementId(x) AS id")
        left = {record["id"] for record in ids}
        where = f"WHERE NOT coalesce(x.{_quoted(known.changed_by)} < $since, false)"
        changed = {row["id"]: row for row in self._fetch(where, since=_decoded(known.since))}
        for line in lines(known.rows):
            row = json.loads(line)
            if row["type"] == self.kind and row["id"] in left:
                left.discard(row["id"])
                yield changed.pop(row["id"], row)
        yield from changed.values()
        new = sorted(left - changed.keys())
        for first in range(0, len(new), _PAGE):
            yield from self._fetch("WHERE elementId(x) IN $ids", ids=new[first : first + _PAGE])


def fingerprints(rows: Path) -> dict[str, bytes]:
    """Return a fingerprint of each row of a file that was read, by its kind and id."""
    found = dict[str, bytes]()
    for line in lines(rows):
        row = json.loads(line)
        found[f"{row['type']} {row['id']}"] = blake2b(line.encode(), digest_size=16).digest()
    return found


def checksum_of(fingerprints: dict[str, bytes]) -> str:
    """Return the checksum of rows, in whatever order they were read."""
    return blake2b(b"".join(fingerprints[key] for key in sorted(fingerprints)), digest_size=16).hexdigest()


def plain(value: Any) -> Any:
    """Return a driver's value as JSON, None for vectors and bytes; a row names such properties in `unread`."""
    from neo4j.graph import Node, Path, Relationship
    from neo4j.spatial import Point

    if isinstance(value, Node):
        return {"type": "node", "id": value.element_id, "labels": sorted(value.labels), **_properties(value)}
    if isinstance(value, Relationship):
        start, end = ({"id": "" if node is None else node.element_id} for node in value.nodes)
        ends = {"start": start, "end": end, "label": value.type}
        return {"type": "relationship", "id": value.element_id, **ends, **_properties(value)}
    if isinstance(value, Path):
        parts = chain.from_iterable(zip_longest(value.nodes, value.relationships))
        return [plain(part) for part in parts if part is not None]
    if isinstance(value, Point):
        return dict(zip(("longitude", "latitude", "height") if value.srid in _WGS84 else "xyz", value, strict=False))
    if hasattr(value, "iso_format"):
        return re.sub(r"\.(\d*?)0+(?!\d)", lambda match: match[1] and f".{match[1]}", value.iso_format())
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple) and not is_vector(value):
        return [plain(part) for part in value]
    return value if isinstance(value, str | int | float) else None


_WGS84 = (4326, 4979)  # geographic coordinates in two and three dimensions


def _properties(entity: Any) -> dict[str, Any]:
    values = {name: plain(value) for name, value in entity.items()}
    unread = sorted(name for name, value in values.items() if value is None)
    return {"properties": {k: v for k, v in values.items() if v is not None}, **({"unread": unread} if unread else {})}


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _encoded(value: Any) -> object:
    """Return a time of the driver, a number or a text as JSON that `_decoded` reads."""
    return {type(value).__name__: value.iso_format()} if hasattr(value, "iso_format") else value


def _decoded(value: Any) -> object:
    from neo4j import time

    if isinstance(value, dict):
        ((name, text),) = value.items()
        return getattr(time, name).from_iso_format(text)
    return value


def _said(error: Exception) -> str:
    """Return what the server or the driver says, on a line."""
    return " ".join(str(getattr(error, "message", None) or error).split())
