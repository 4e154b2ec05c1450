"""An independent reader of grammars in GBNF, without loops, and a language model that writes by one."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphwright.models.protocols import Completion, Usage

PART = re.compile(r'"((?:[^"\\]|\\.)*)"|([a-z][a-z0-9]*)|(\|)')
ESCAPE = re.compile(r"\\(?:U([0-9A-F]{8})|(.))", re.DOTALL)
PLAIN = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


def alternatives(rule: str) -> Iterator[list[tuple[str, str]]]:
    """The alternatives of a rule, each a sequence of a literal text and the name of a rule, of which one is empty."""
    sequence: list[tuple[str, str]] = []
    for literal, name, bar in (match.groups() for match in PART.finditer(rule)):
        if bar:
            yield sequence
            sequence = []
        else:
            text = ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else PLAIN[m[2]], literal or "")
            sequence.append((text, name or ""))
    yield sequence


def rules_of(grammar: str) -> dict[str, str]:
    return dict(line.split(" ::= ", 1) for line in grammar.split("\n"))


def language(grammar: str, name: str = "root") -> set[str]:
    """All texts of a grammar."""
    texts: set[str] = set()
    for sequence in alternatives(rules_of(grammar)[name]):
        begun = {""}
        for literal, rule in sequence:
            ends = language(grammar, rule) if rule else {literal}
            begun = {begin + end for begin in begun for end in ends}
        texts |= begun
    return texts


def derived(grammar: str, draw: random.Random) -> str:
    """A text of a grammar, an alternative of each rule drawn at random."""
    rules = rules_of(grammar)

    def of(name: str) -> str:
        sequence = draw.choice(list(alternatives(rules[name])))
        return "".join(of(rule) if rule else literal for literal, rule in sequence)

    return of("root")


@dataclass(frozen=True)
class GrammarLLM:
    """A language model that knows nothing and keeps its grammar, as a server of llama.cpp makes any model do."""

    seed: int = 0
    grammar: str = ""
    grammars: list[str] = field(default_factory=list, compare=False)  # of the requests so far

    @property
    def id(self) -> str:
        return f"grammar {self.seed} {self.grammar}"

    def with_grammar(self, grammar: str) -> GrammarLLM:
        self.grammars.append(grammar)
        return GrammarLLM(self.seed, grammar, self.grammars)

    def complete(self, system: str, user: str, **_: object) -> Completion:
        text = derived(self.grammar, random.Random(self.seed)) if self.grammar else "anything"
        return Completion(text, None, Usage(calls=1, prompt_tokens=5, completion_tokens=1))
