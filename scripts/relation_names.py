"""Other names of relations, so that a network sees more of them than the written graphs have."""

from __future__ import annotations

import random
import re
from pathlib import Path

from parser_data import FOLDER, Group

from graphwright.search.relation_facts import relation_phrase
from graphwright.text.words import STOP_WORDS

NAMES = FOLDER / "relations.tsv"
"""A relation of a written graph a line: the graph, its name, and names that other data might have for the same."""
SHARE = 0.6  # of the questions that have other names
CHANGED = 0.7  # of the relations of such a question


class RelationNames:
    """The other names of the relations of each written graph, in words."""

    def __init__(self, file: Path = NAMES) -> None:
        self.of_graphs: dict[str, dict[str, list[str]]] = {}
        for line in file.read_text("utf-8").splitlines():
            graph, name, *others = line.split("\t")
            if not STOP_WORDS.issuperset(relation_phrase(name).split()):
                self.of_graphs.setdefault(graph, {})[relation_phrase(name)] = list(map(relation_phrase, others))

    def drawn(self, source: str, group: Group, draw: random.Random) -> Group:
        """Return a group of a source ("written 0 bees"), or one with other names of relations in its candidates."""
        names = self.of_graphs.get("".join(source.split()[2:3]), {})
        if not names or draw.random() > SHARE:
            return group
        chosen = {name: draw.choice(others) for name, others in names.items() if draw.random() < CHANGED}
        if not chosen:
            return group
        either = "|".join(map(re.escape, sorted(chosen, key=len, reverse=True)))
        pattern = re.compile(rf"\b(?:{either})\b")
        changed = [(asked, pattern.sub(lambda match: chosen[match[0]], text)) for asked, text in group.pairs]
        return group._replace(pairs=changed)
