"""Constrained decoding: a trie of the allowed texts, as a grammar for a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from graphwright.errors import LLMResponseError
from graphwright.models.protocols import LLM, Completion


class Unconstrained(LLMResponseError):
    """A reply outside the constraint, or a server that refuses a grammar."""


def grammar_of(texts: Iterable[str]) -> str:
    r"""Return a grammar of llama.cpp (GBNF) that accepts exactly these texts: their trie, one rule for each branch.

    >>> print(grammar_of(["Bertha child Ida", "Bertha child Ava", 'Bertha ally "Otto"']))
    root ::= "Bertha " r1
    r1 ::= "ally \"Otto\"" | "child " r2
    r2 ::= "Ava" | "Ida"
    """
    ordered = sorted(set(texts))
    rules, pending = list[str](), [("root", ordered, 0)]
    names = (f"r{number}" for number in range(1, len(ordered) + 1))
    for name, group, start in pending:  # the loop appends to it
        alternatives = []
        for part, end in _branches(group, start):
            literal = f'"{_literal(part[0][start:end])}"'
            if len(part) > 1:
                pending.append((next(names), part, end))
                literal = f"{literal} {pending[-1][0]}"
            alternatives.append(literal)
        rules.append(f"{name} ::= {' | '.join(alternatives)}")
    return "\n".join(rules)


def _branches(group: Sequence[str], start: int) -> Iterator[tuple[list[str], int]]:
    """Yield the sorted texts of each branch at a position, and the end of their common prefix."""
    for _, texts in groupby(group, key=lambda text: text[start : start + 1]):
        part = list(texts)
        agree = (at for at, (a, b) in enumerate(zip(part[0], part[-1], strict=False)) if a != b)
        yield part, next(agree, min(len(part[0]), len(part[-1])))


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _literal(text: str) -> str:
    """Return a text escaped for a quoted literal; characters other than printable ASCII become code points."""
    return "".join(_ESCAPES.get(char) or (char if " " <= char <= "~" else f"\\U{ord(char):08X}") for char in text)


Complete = Callable[[LLM], Completion]  # a function that calls a model and records its usage, also on failure


def decode(llm: LLM, texts: Sequence[str], k: int, complete: Complete) -> list[str]:
    """Return at most k of the texts, in the order in which the constrained model writes them, one a request.

    Raises Unconstrained for a model without `with_grammar`, and for a server that ignores or refuses the grammar.
    """
    if not _takes_grammar(llm):
        raise Unconstrained(f"{llm.id} takes no grammar.")
    left, decoded = list(dict.fromkeys(texts)), list[str]()
    while left and len(decoded) < k:
        text = left[0] if len(left) == 1 else _written(llm, left, complete)
        left.remove(text)
        decoded.append(text)
    return decoded


def _takes_grammar(llm: Any) -> bool:
    """Return whether a model and all models that it wraps support grammars."""
    return hasattr(llm, "with_grammar") and (not hasattr(llm, "llm") or _takes_grammar(llm.llm))


def _written(llm: Any, texts: list[str], complete: Complete) -> str:
    try:
        reply = complete(llm.with_grammar(grammar_of(texts))).text.strip()
    except LLMResponseError as error:
        raise Unconstrained(str(error)) from error
    if reply not in texts:
        raise Unconstrained(f"{llm.id} replied with a text which its grammar does not allow.")
    return reply
