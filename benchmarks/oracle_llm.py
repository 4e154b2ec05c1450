"""A scripted model that knows the gold passages of a question and makes the right choice at each step."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from gold_graph import Gold, Passages, united

from graphwright.graph.graph import Graph
from graphwright.graph.walks import Ways, relation_words
from graphwright.models.protocols import Cancel, Completion, OnText, Schema
from graphwright.models.structured import complete_by
from graphwright.text.names import normal_form

Reply: TypeAlias = Mapping[str, Any]

_DATA = re.compile(r'^(?:\{".*\}|".*")$', re.MULTILINE)
_AT_MOST = re.compile(r"at most (\d+)")
_MATCHES = 5  # entries of a keyword
_NAMES = 20  # in a list of a reply
_IMPLIED = 3


@dataclass(eq=False)
class OracleLLM:
    """Choose what leads to the gold passages, of what a prompt of a retrieval step offers.

    `graph`: the graph that is searched. `gold`: the chunk nodes that hold the evidence. `question`: its text.

    - Keywords are the names of gold passages that the question has, none within another. Implied are the names that
      gold passages are about, and those that several of them name and at most 2 % of all (no numbers), where the
      question lacks them.
    - A candidate name is right if it is a keyword or such a name, a candidate statement or path if each of its
      statements stands in a gold passage. Of several those come first that add a passage without a statement so far.
    - A plan, or a relation path, is right if a walk from a keyword along statements of gold passages has its relations.
    - A summary is as helpful as the share of the gold passages of which it has a statement.
    - It is enough once each gold passage has a statement. An answer is never given.

    Any other step, such as a summary, gets a reply that does not fit, so that its twin without a model does it.

    >>> from tests.shared.corpus import corpus_index
    >>> graph = corpus_index().snapshot.graph
    >>> model = OracleLLM(graph, [graph.id("ermengarde#0")], "Which abbey did Ermengarde of Tours found?")
    >>> model.named, model.gold_graph.of_path("Lothair II: He married Teutberga in 855.")
    (['Ermengarde of Tours'], frozenset())
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
        name = "" if schema is None else schema.__name__
        lines = [json.loads(line) for line in _DATA.findall(user)]
        make = self._replies.get(name)
        reply = json.dumps({} if make is None else make(user, lines))
        self.calls.append((name, reply))
        return complete_by(
            lambda *_: reply, system, user, self.id, lambda text: len(text.split()), schema, on_text, cancel
        )

    @cached_property
    def _replies(self) -> Mapping[str, Callable[[str, list[Any]], Reply]]:
        """The function that makes each reply, of the user prompt and its lines of data."""
        rest = [self.question[:80]]  # themes and relations in the question's words
        fixed: dict[str, Reply] = {
            "LatentKeywordsReply": {"names": self.named, "implied": self.implied, "relations": rest},
            "KeywordsReply": {"names": [*self.named, *self.implied], "themes": rest},
            "ConstraintsReply": {"constraints": []},
            "WrittenAnswer": {"found": False, "text": "", "citations": []},
            "PlainAnswer": {"found": False, "text": ""},
        }
        return {name: lambda user, lines, reply=reply: reply for name, reply in fixed.items()} | {
            "MatchesReply": self._matches,
            "GroupsReply": self._groups,
            "GrowReply": self._grow,
            "ChoiceReply": lambda user, lines: {"numbers": self._grow(user, lines)["numbers"]},
            "PlansReply": self._plans,
            "RatingsReply": self._ratings,
        }

    @cached_property
    def gold_graph(self) -> Gold:
        """What the gold passages state and name."""
        return Gold(self.graph, self.gold)

    @cached_property
    def named(self) -> list[str]:
        """Names of the question that gold passages have, the longest first, none within another."""
        text, names = f" {normal_form(self.question)} ", list[str]()
        for name in sorted(self.gold_graph.names, key=lambda name: (-len(name), name)):
            form = f" {normal_form(name)} "
            if form.strip() and form in text:
                text = text.replace(form, " | ")
                names.append(name)
        return names[:_NAMES]

    @cached_property
    def implied(self) -> list[str]:
        """The first names that gold passages are about, or that join them, which the question does not have."""
        asked = normal_form(self.question)
        return [name for name in self.gold_graph.joining if normal_form(name) not in asked][:_IMPLIED]

    @cached_property
    def _names(self) -> Mapping[str, Passages]:
        """The gold passages of the right names."""
        passages = self.gold_graph.names
        return united((name, passages[name]) for name in (*self.named, *self.gold_graph.joining) if name in passages)

    @cached_property
    def _walks(self) -> Mapping[Ways, Passages]:
        """The relations of the walks from the names of the question along statements of gold passages."""
        return self.gold_graph.walks(self.named)

    @cached_property
    def _relations(self) -> Mapping[str, Passages]:
        """The same as texts."""
        return united((relation_words(self.graph, ways), passages) for ways, passages in self._walks.items())

    def _right(self, line: Mapping[str, Any]) -> Passages:
        """Return the gold passages of a candidate."""
        if "name" in line:
            return self._names.get(line["name"], frozenset())
        text = line.get("text", line.get("statement", ""))
        return self.gold_graph.of_path(text) or self._relations.get(text, frozenset())

    def _are_all(self, texts: Iterable[str]) -> bool:
        """Return whether each gold passage states one of the texts."""
        return bool(self.gold) and frozenset().union(*map(self.gold_graph.of_path, texts)).issuperset(self.gold)

    def _grow(self, user: str, lines: Iterable[Any]) -> Reply:
        """Choose candidates by number, first those that add a passage to what was chosen before."""
        lines, limit = list(lines), min(map(int, _AT_MOST.findall(user)), default=_NAMES)
        covered = frozenset[int]().union(*map(self.gold_graph.of_path, _texts(lines)))
        candidates = [(line["number"], self._right(line)) for line in lines if "number" in line]
        right = {number: passages for number, passages in candidates if passages}
        numbers: list[int] = []
        for must_add in (True, False):
            for number, passages in right.items():
                if number not in numbers and len(numbers) < limit and (passages - covered or not must_add):
                    numbers.append(number)
                    covered |= passages
        return {"numbers": numbers, "enough": bool(self.gold) and covered.issuperset(self.gold)}

    def _matches(self, user: str, lines: Iterable[Any]) -> Reply:
        """Match each keyword with the first right entries."""
        lines = list(lines)
        entries = [line["entry"] for line in lines if "entry" in line and self._right(line)][:_MATCHES]
        keywords = [line["keyword"] for line in lines if "keyword" in line]
        return {"matches": [{"keyword": keyword, "entries": entries} for keyword in keywords if entries]}

    def _groups(self, user: str, lines: Iterable[Any]) -> Reply:
        """Group the right candidates by the keyword that they were found for."""
        groups: dict[str, list[int]] = {}
        for line in lines:
            if "candidate" in line and self._right(line):
                groups.setdefault(line["for"][0], []).append(line["candidate"])
        weight, named = 1 / max(len(groups), 1), list(groups.items())[:_NAMES]
        return {"groups": [{"intent": key[:80], "numbers": n[:_NAMES], "weight": weight} for key, n in named]}

    def _plans(self, user: str, lines: Iterable[Any]) -> Reply:
        """Write the plans with most gold passages, the shorter first, by relations that the prompt lists."""
        listed, limit = {line for line in lines if isinstance(line, str)}, min(map(int, _AT_MOST.findall(user)))
        plans: dict[tuple[str, ...], Passages] = {}
        for ways, passages in self._walks.items():
            plan = tuple(relation_words(self.graph, (way | 1,)).casefold() for way in ways)
            if listed.issuperset(plan):
                plans[plan] = plans.get(plan, frozenset()) | passages
        best = sorted(plans, key=lambda plan: (-len(plans[plan]), len(plan), plan))
        return {"plans": [list(plan) for plan in best[:limit]]}

    def _ratings(self, user: str, lines: Iterable[Any]) -> Reply:
        """Rate summaries by the share of the gold passages of which they have a statement."""
        ratings = []
        for line in (line for line in lines if "number" in line):
            inside = (passages for text, passages in self.gold_graph.statements.items() if text in line["text"])
            share = len(frozenset().union(*inside)) / max(len(self.gold), 1)
            ratings.append({"number": line["number"], "helpful": round(100 * share)})
        return {"ratings": ratings}


def _texts(lines: Iterable[Any]) -> Iterator[str]:
    """Yield the statements of a prompt that are no candidates: those that were found or chosen before."""
    for line in lines:
        if isinstance(line, str):
            yield line
        elif "number" not in line and ("found" in line or "text" in line):
            yield line.get("found", line.get("text"))
