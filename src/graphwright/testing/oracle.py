"""A scripted model that knows the gold passages of a question and makes the right choice at each step."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphwright.graph.graph import ABOUT, Graph, Kind
from graphwright.models.fake import complete_by
from graphwright.models.protocols import Cancel, Completion, OnText, Schema
from graphwright.text.names import normal_form

_LINE = re.compile(r'^\{".*\}$', re.MULTILINE)
_AT_MOST = re.compile(r"at most (\d+)")
_ENTRIES = 5  # of a keyword
_IMPLIED = 3


@dataclass(eq=False)
class OracleLLM:
    """Choose what leads to the gold passages, of what a prompt of a retrieval step offers.

    `graph`: the graph that is searched. `gold`: the chunk nodes that hold the evidence. `question`: its text.

    - Keywords are the names of gold passages that the question has, and implied are the names by which they are joined.
    - A candidate name is right if a gold passage names it, a candidate statement or path if each of its statements
      stands in a gold passage. Of several those come first that stand in a passage without a statement so far.
    - An item is enough once each gold passage has a statement in it. An answer is never given.

    Steps without a choice (summaries, ratings, plans) get a reply that does not fit, so that their twins do them.

    >>> from graphwright.testing.corpus import corpus_index
    >>> snapshot = corpus_index().snapshot
    >>> gold = [node for node in snapshot.passages.ids if "Ermengarde" in snapshot.graph.passage(int(node))][:1]
    >>> model = OracleLLM(snapshot.graph, gold, "Whom did Lothair I marry?")
    >>> model.complete("", '{"number": 1, "text": "Nobody founded it."}\\nChoose at most 3').text
    '{"numbers": [], "enough": false}'
    """

    graph: Graph
    gold: Sequence[int]
    question: str
    id: str = "oracle"
    calls: list[tuple[str, str]] = field(default_factory=list, repr=False)
    """The reply's schema and the reply of each call."""

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Answer one prompt, as LLM.complete does."""
        make = self._replies.get("" if schema is None else schema.__name__, self._grow)
        lines = [json.loads(line) for line in _LINE.findall(user)]
        reply = json.dumps(make(user, lines))
        self.calls.append((schema.__name__ if schema else "", reply))
        return complete_by(
            lambda *_: reply, system, user, self.id, lambda text: len(text.split()), schema, on_text, cancel
        )

    @cached_property
    def _replies(self) -> Mapping[str, Callable[[str, list[dict[str, Any]]], Mapping[str, Any]]]:
        return {
            "LatentKeywordsReply": lambda user, lines: {
                "names": self.named, "implied": self.implied, "relations": self.relations
            },
            "KeywordsReply": lambda user, lines: {"names": [*self.named, *self.implied], "themes": self.relations},
            "ConstraintsReply": lambda user, lines: {"constraints": []},
            "MatchesReply": self._matches,
            "GroupsReply": self._groups,
            "GrowReply": self._grow,
            "ChoiceReply": lambda user, lines: {"numbers": self._grow(user, lines)["numbers"]},
            "EnoughReply": lambda user, lines: {"enough": False},
            "ThoughtReply": lambda user, lines: {"enough": True, "thought": ""},
            "WrittenAnswer": lambda user, lines: {"found": False, "text": "", "citations": []},
            "PlainAnswer": lambda user, lines: {"found": False, "text": ""},
        }  # fmt: skip

    @cached_property
    def statements(self) -> Mapping[str, frozenset[int]]:
        """The gold passages that state each text."""
        columns, passages = self.graph.columns, {}
        for chunk in self.gold:
            for edge in columns.stated.row(int(chunk)).tolist() if columns.edge_chunks is not None else ():
                passages.setdefault(self.graph.edge_text(edge), set()).add(int(chunk))
        return {text: frozenset(chunks) for text, chunks in passages.items()}

    @cached_property
    def entities(self) -> Mapping[str, frozenset[int]]:
        """The gold passages that name each entity."""
        rows, names = self.graph.columns.node_chunks, {}
        for node in np.flatnonzero(self.graph.columns.kinds != Kind.CHUNK).tolist() if rows is not None else ():
            if inside := set(rows.row(node).tolist()).intersection(self.gold):
                names[self.graph.names[node]] = frozenset(inside)
        return names

    @cached_property
    def named(self) -> list[str]:
        """Names of the question that gold passages have, the longest first, none within another."""
        text, taken = f" {normal_form(self.question)} ", []
        for name in sorted(self.entities, key=lambda name: (-len(name), name)):
            if f" {normal_form(name)} " in text and normal_form(name):
                text = text.replace(f" {normal_form(name)} ", " | ")
                taken.append(name)
        return taken[:20]

    @cached_property
    def implied(self) -> list[str]:
        """Names that join gold passages, and those that they are about, which the question does not have."""
        topics = self.graph.columns.by_relation(ABOUT).rows(np.array(self.gold, np.int64)).tolist()
        joining = sorted(self.entities, key=lambda name: (-len(self.entities[name]), name))
        names = [*(self.graph.names[node] for node in topics), *(n for n in joining if len(self.entities[n]) > 1)]
        return [name for name in dict.fromkeys(names) if normal_form(name) not in normal_form(self.question)][:_IMPLIED]

    @cached_property
    def relations(self) -> list[str]:
        """The rest of the question."""
        return [self.question[:80]]

    def passages_of(self, text: str) -> frozenset[int]:
        """Return the gold passages that state a text, or all parts of a path; none if one part is in none."""
        if text in self.statements:
            return self.statements[text]
        parts = [self.statements.get(part.strip(), frozenset()) for part in text.split(";")]
        return frozenset().union(*parts) if all(parts) else frozenset()

    def _right(self, line: Mapping[str, Any]) -> frozenset[int]:
        """Return the gold passages of a candidate."""
        if "name" in line:
            return self.entities.get(line["name"], frozenset())
        return self.passages_of(line.get("text", line.get("statement", "")))

    def _grow(self, user: str, lines: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
        lines, limit = list(lines), min(map(int, _AT_MOST.findall(user)), default=10)
        covered = frozenset().union(*(self.passages_of(line["found"]) for line in lines if "found" in line))
        candidates = [(line["number"], self._right(line)) for line in lines if "number" in line]
        numbers: list[int] = []
        for fresh in (True, False):
            for number, passages in candidates:
                if passages and number not in numbers and len(numbers) < limit and (not fresh or passages - covered):
                    numbers.append(number)
                    covered |= passages
        return {"numbers": numbers, "enough": bool(covered) and covered.issuperset(self.gold)}

    def _matches(self, user: str, lines: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
        lines = list(lines)
        entries = [line["entry"] for line in lines if "entry" in line and self._right(line)]
        keywords = [line["keyword"] for line in lines if "keyword" in line]
        return {"matches": [{"keyword": k, "entries": entries[:_ENTRIES]} for k in keywords if entries]}

    def _groups(self, user: str, lines: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
        groups: dict[str, list[int]] = {}
        for line in lines:
            if "candidate" in line and self._right(line):
                groups.setdefault(line["for"][0], []).append(line["candidate"])
        named = [{"intent": k[:80], "numbers": v[:20], "weight": 1 / len(groups)} for k, v in groups.items()]
        return {"groups": named[:20]}
