"""N-grams of a question, as it is and with what it names of a table replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphwright.operators.query.tables.links import Links


def ngrams(links: Links) -> list[str]:
    """Return the words, pairs and triples of a question, as they are and with linked words replaced by their kind."""
    words = [word.text for word in links.words]
    masked = _masked(links)
    return list(dict.fromkeys([*_runs(words, 2), *(f"m {run}" for run in _runs(masked, 3))]))


def _runs(words: Sequence[str], longest: int) -> Iterator[str]:
    padded = ["^", *words, "$"]
    for length in range(1, longest + 1):
        for start in range(len(padded) - length + 1):
            yield " ".join(padded[start : start + length])


def _masked(links: Links) -> list[str]:
    """Return the words of a question with linked cells, amounts and names of columns replaced by their kind."""
    kinds: list[str] = [word.text for word in links.words]
    for _, bits in links.headers:
        for at in range(len(kinds)):
            if bits >> at & 1:
                kinds[at] = "<column>"
    for amount in links.amounts:
        for at in range(amount.start, amount.end):
            kinds[at] = "<date>" if amount.is_date else "<number>"
    for link in links.cells:
        if link.kind in ("cell", "part"):
            for at in range(link.start, link.end):
                kinds[at] = "<cell>"
    return [kind for at, kind in enumerate(kinds) if at == 0 or not kind.startswith("<") or kind != kinds[at - 1]]
