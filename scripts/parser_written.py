"""Questions written for training, with the queries that answer them, over small graphs.

    python scripts/parser_written.py FOLDER

prints each question of the files of FOLDER with its answer, and fails if a query cannot be read, names what the graph
does not have, or gives nothing. A file is a line "# what the graph is about", lines "subject | relation | object",
lines "? question | query", and lines "! question" for what the graph does not say.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from graphwright.errors import OptionError
from graphwright.graph.graph import Graph
from graphwright.operators.query.checks import check
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.search.facts import Facts

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from tables import answer_texts


def read_graphs(
    folder: Path, names: Sequence[str] | None = None
) -> Iterator[tuple[str, Facts, list[tuple[str, str | None]]]]:
    """Yield files of some names, or all: the name, the facts of its graph, its questions with their queries or None."""
    for path in sorted(folder.glob("*.txt")) if names is None else [folder / f"{name}.txt" for name in names]:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        asked: list[tuple[str, str | None]] = []
        triples: list[tuple[str, str, str]] = []
        for line in lines:
            if line.startswith("?"):
                question, query = line[1:].split("|", 1)
                asked.append((question.strip(), query.strip()))
            elif line.startswith("!"):
                asked.append((line[1:].strip(), None))
            elif not line.startswith("#"):
                subject, relation, object = (part.strip() for part in line.split("|"))
                triples.append((subject, relation, object))
        yield path.stem, Facts.of(Graph.from_triples(triples)), asked


def answer_of(text: str, facts: Facts) -> list[str]:
    """Return the answers of a query. Raises OptionError where it cannot be read, has unknown names or gives nothing."""
    query = parse_notation(text)
    if notes := check(query, facts):
        raise OptionError(" ".join(notes))
    if not (answers := answer_texts(Execution(facts).result(query), facts)):
        raise OptionError("The query gives nothing.")
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    failures = 0
    for name, facts, asked in read_graphs(parser.parse_args().folder):
        unanswered = sum(query is None for _, query in asked)
        print(f"\n# {name}: {len(facts.columns.heads)} triples, {len(asked)} questions, {unanswered} without an answer")
        for question, query in asked:
            try:
                print(f"{question}  ->  {'; '.join(answer_of(query, facts)) if query else '-'}")
            except OptionError as error:
                print(f"WRONG {question} | {query}: {error}")
                failures += 1
    sys.exit(f"{failures} queries are wrong" if failures else 0)


if __name__ == "__main__":
    main()
