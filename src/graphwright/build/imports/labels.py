"""Labels of ids in the rows of files, in DuckDB: the one that is the name of an id, and the further ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphwright.data.graph_files.dump import LABEL, LINK, TRIPLE, Dump
from graphwright.data.graph_files.ntriples import FURTHER, NTriples
from graphwright.kernels.ranking import Numbering
from graphwright.search.name_index import MAX_NORMALISED


def collect_labels(db: Any, files: Sequence[Dump], names: Sequence[Dump]) -> bool:
    """Write the labels of ids into the tables `labels`, one for an id, and `all_labels`; return whether there are any.

    `names`: files with an id and a name in each row. The table `codes` has the roles of the rows of `files`.
    """
    labels = [f"SELECT head AS id, tail AS name, 0 AS rank FROM ({f.rows()}) WHERE role = {TRIPLE}" for f in names]
    triples = [file.rows() for file in files if isinstance(file, NTriples)]
    if _has_role(db, LABEL):
        labels += [f"SELECT head AS id, tail AS name, rank FROM ({rows}) WHERE role = {LABEL}" for rows in triples]
    db.execute("CREATE OR REPLACE TABLE all_labels (id VARCHAR, name VARCHAR, rank INTEGER)")
    for part in labels:
        db.execute(f"INSERT INTO all_labels {part}")
    for rows in triples if _has_role(db, LINK) else ():
        db.execute(
            f"INSERT INTO all_labels SELECT link.tail, name, rank FROM (SELECT head, tail FROM ({rows}) WHERE "
            f"role = {LINK}) AS link JOIN all_labels ON id = link.head"
        )
    db.execute(  # of extracts of Wikidata, which lack the rows about properties
        "INSERT INTO all_labels SELECT replace(id, '/entity/P', unnest(['/prop/direct/P', '/prop/qualifier/P', "
        "'/prop/reference/P'])), name, rank FROM all_labels WHERE contains(id, '/entity/P')"
    )
    db.execute(
        "CREATE OR REPLACE TABLE labels AS SELECT id, arg_min(name, (rank, name)) AS name FROM all_labels "
        f"WHERE rank < {FURTHER} GROUP BY id"
    )
    return bool(db.execute("SELECT count(*) FROM all_labels").fetchone()[0])


def _has_role(db: Any, role: int) -> bool:
    return bool(db.execute(f"SELECT count(*) FROM codes WHERE role = {role}").fetchone()[0])


def labels_of(db: Any, ids: Iterable[str]) -> dict[str, str]:
    """Return the names of those of some ids that have one."""
    listed = "(SELECT unnest(?::VARCHAR[]))"
    return dict(db.execute(f"SELECT id, name FROM labels WHERE id IN {listed}", [list(ids)]).fetchall())


def further_labels(db: Any, hashed: Callable[[str], str], numbers: Numbering) -> dict[int, list[str]]:
    """Return the labels of nodes that are not their names, sorted; none for a graph whose names are not folded.

    `hashed`: the expression of the hash of a column.
    """
    further: dict[int, list[str]] = {}
    if len(numbers) > MAX_NORMALISED:
        return further
    rows = db.execute(
        f"SELECT DISTINCT {hashed('a.id')} AS code, a.name AS name FROM all_labels AS a "
        "JOIN terms ON terms.name = a.id LEFT JOIN labels ON labels.id = a.id "
        "WHERE a.name IS DISTINCT FROM labels.name ORDER BY a.name"
    ).fetchnumpy()
    for node, name in zip(numbers.find(rows["code"]).tolist(), rows["name"], strict=True):
        further.setdefault(node, []).append(name)
    return further
