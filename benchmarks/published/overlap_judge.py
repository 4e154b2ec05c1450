"""A judge of answers without a model, for the tables of papers offline: words shared with accepted answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphwright.evaluate.judge import Verdict
from graphwright.evaluate.metrics import normalised, token_f1
from graphwright.operators.run import Run

_MAX_REASON = 300  # characters of a reason
_MIN_REFERENCE = 8  # words of an accepted answer that two answers can be compared with
_MIN_F1 = 0.5  # of the words of an answer and an accepted one, for the answer to be right


@dataclass(frozen=True)
class OverlapJudge:
    """Judge answers offline by counting words, as a stand-in for a language model.

    An answer is right where it contains the words of an accepted one in a row, or where its token F1 with one is at
    least 0.5; for an accepted "yes" or "no" its first word decides. So an answer that denies or only lists the
    accepted one counts as right, and a paraphrase as wrong.

    Two answers are compared by their words with the nearest accepted answer of eight words or more: comprehensiveness
    is the recall of its words (ROUGE-1), relevance the precision. The other dimensions are left out; without such an
    accepted answer, all are.

    >>> judge = OverlapJudge()
    >>> judge.accuracy("Which river is Graz on?", ["Mur", "Mura"], "Graz lies on the river Mur.").value
    1.0
    >>> long = ["Graz is on the river Mur, which rises in the Alps."]
    >>> {k: v.value for k, v in judge.compare("", long, "It rises in the Alps.", "The Mur.", DIMENSIONS).items()}
    {'comprehensiveness': 1.0, 'relevance': 0.0}
    """

    @property
    def id(self) -> str:
        """Name of the stand-in, with its threshold."""
        return f"stand-in for a model: words shared with accepted answers (F1 >= {_MIN_F1})"

    def accuracy(self, question: str, accepted: Sequence[str], answer: str, run: Run | None = None) -> Verdict:
        """Return whether an answer is right, judged by its words."""
        match = next((text for text in accepted if _agrees(answer, text)), None)
        if match is None:
            return Verdict(0.0, "shares too little")
        return Verdict(1.0, f"has the words of {match!r}"[:_MAX_REASON])

    def compare(
        self,
        question: str,
        accepted: Sequence[str],
        first: str,
        second: str,
        dimensions: Mapping[str, str],
        run: Run | None = None,
    ) -> dict[str, Verdict]:
        """Return which of two answers is better on comprehensiveness and relevance."""
        references = [Counter(normalised(text).split()) for text in accepted]
        references = [words for words in references if words.total() >= _MIN_REFERENCE]
        if not references:
            return {}
        shares, others = (_shares(Counter(normalised(answer).split()), references) for answer in (first, second))
        return {name: _better(shares[name], others[name]) for name in dimensions if name in shares}


def _agrees(answer: str, accepted: str) -> bool:
    words, accepted_words = normalised(answer), normalised(accepted)
    if not words or not accepted_words:
        return False
    if accepted_words in ("yes", "no"):
        return words.split()[0] == accepted_words
    return f" {accepted_words} " in f" {words} " or token_f1(answer, accepted) >= _MIN_F1


def _shares(answer: Counter[str], references: list[Counter[str]]) -> dict[str, float]:
    """Return the recall and the precision of an answer's words, by the dimensions that they measure."""
    common = [(answer & reference).total() for reference in references]
    return {
        "comprehensiveness": max(n / reference.total() for n, reference in zip(common, references, strict=True)),
        "relevance": max(common) / max(answer.total(), 1),
    }


def _better(share: float, other: float) -> Verdict:
    return Verdict(0.5 if share == other else float(share > other), f"{share:.3f} of the words against {other:.3f}")
