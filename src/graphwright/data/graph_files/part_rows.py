"""Rows of RDF in DuckDB: those that describe statements, lists and expressions are replaced by triples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from graphwright.data.graph_files.dump import LEFT_OUT, PART, SKIPPED, TRIPLE
from graphwright.data.graph_files.rdf_parts import Claim, RDFParts, Triple


def claims_of(
    db: Any, rows: str, hashed: Callable[[str], str], names: Callable[[Iterable[str]], Mapping[str, str]]
) -> tuple[list[Claim], dict[str, int]]:
    """Return the claims in the rows of all files, and the number of parts that are left out, by what they are.

    `rows`: the query of all rows; `hashed`: the expression of the hash of a column. The table `codes` of hashed rows
    then has the triples of the claims, those that it lacks at its end, and no row about the ids of the parts; these are
    in the table `parts`, and the triples in `claims`.
    """
    db.execute("CREATE OR REPLACE TABLE parts (id VARCHAR)")
    db.execute("CREATE OR REPLACE TABLE claims (head VARCHAR, relation VARCHAR, tail VARCHAR)")
    left_out = db.execute(f"SELECT count(*) FROM codes WHERE role = {LEFT_OUT}").fetchone()[0]
    others = {"rows of Wikibase about its own data": left_out} if left_out else {}
    if not db.execute(f"SELECT count(*) FROM codes WHERE role = {PART}").fetchone()[0]:
        return [], others
    parts = RDFParts(names)

    def read(condition: str) -> list[Triple]:
        found: list[Triple] = db.execute(
            f"SELECT head, relation, tail FROM ({rows}) WHERE {condition} ORDER BY ALL"
        ).fetchall()
        return found

    about = parts.add(read(f"role = {PART}"))
    _insert(db, parts.ids)
    ends = ("head", "relation", "tail")
    about += read(f"role = {TRIPLE} AND ({' OR '.join(f'{end} IN (FROM parts)' for end in ends)})")
    if references := parts.references(about):
        db.execute("CREATE OR REPLACE TABLE referenced AS SELECT unnest(?::VARCHAR[]) AS id", [list(references)])
        about += read(f"role = {TRIPLE} AND head IN (FROM referenced)")
        _insert(db, references)
    claims = parts.claims(about)
    in_parts = " OR ".join(f"{end} IN (SELECT {hashed('id')} FROM parts)" for end in ends)
    db.execute(f"UPDATE codes SET role = {SKIPPED} WHERE role = {TRIPLE} AND ({in_parts})")
    columns = [list(column) for column in zip(*(claim.triple for claim in claims), strict=True)]
    if claims:
        db.execute(
            "INSERT INTO claims SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[])", columns
        )
    new = ", ".join(f"{hashed(end)} AS {end}" for end in ends)
    known = " AND ".join(f"k.{end} = c.{end}" for end in ends)
    db.execute(
        f"INSERT INTO codes SELECT head, relation, tail, {TRIPLE} FROM (SELECT head, relation, tail, min(row) AS row "
        f"FROM (SELECT {new}, rowid AS row FROM claims) GROUP BY head, relation, tail) AS c WHERE NOT EXISTS "
        f"(SELECT 1 FROM codes AS k WHERE role = {TRIPLE} AND {known}) ORDER BY row"
    )
    return claims, {**others, **parts.left_out}


def edges_of(db: Any, hashed: Callable[[str], str]) -> dict[int, int]:
    """Return the edge that states each claim, by the number of the claim: the first of equal edges."""
    ends = ("head", "relation", "tail")
    same = " AND ".join(f"{hashed(f'c.{end}')} = e.{end}" for end in ends)
    return dict(
        db.execute(
            f"SELECT c.rowid, min(e.edge) FROM claims AS c JOIN (SELECT head, relation, tail, row_number() OVER "
            f"(ORDER BY rowid) - 1 AS edge FROM codes WHERE role = {TRIPLE}) AS e ON {same} GROUP BY c.rowid"
        ).fetchall()
    )


def _insert(db: Any, ids: Iterable[str]) -> None:
    db.execute("INSERT INTO parts SELECT unnest(?::VARCHAR[])", [sorted(ids)])
