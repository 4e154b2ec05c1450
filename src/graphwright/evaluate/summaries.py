"""How like an answer of several sentences is to summaries that people wrote: BLEU, ROUGE and METEOR (PathRAG, Table 4).

The metrics are those of sacrebleu, rouge-score and nltk, which the extra `bench` installs; none of them downloads
anything. METEOR therefore aligns words that are the same, and words of the same stem, but no synonyms: these come from
WordNet, which is a download. Its values are a little below those with synonyms, for every method alike.

Where there are several references, BLEU takes them together, as it is defined; ROUGE and METEOR are those of the
reference that gives the most.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache
from typing import Any

from graphwright.errors import OptionError
from graphwright.text.words import WORD

__all__ = ["SUMMARY_METRICS", "bleu", "meteor", "rouge", "summary_scores", "tokens"]

SUMMARY_METRICS = ("BLEU-1", "BLEU-2", "ROUGE-1", "ROUGE-2", "ROUGE-L", "METEOR")


def summary_scores(text: str, references: Sequence[str]) -> dict[str, float]:
    """Return all of `SUMMARY_METRICS` of a text against references, each from 0 to 1.

    Raises OptionError where there is no reference, or where the extra `bench` is not installed.
    """
    found = {f"BLEU-{n}": bleu(text, references, n) for n in (1, 2)}
    return {**found, **rouge(text, references), "METEOR": meteor(text, references)}


def bleu(text: str, references: Sequence[str], n: int) -> float:
    """Return BLEU of one text with n-grams up to `n`, from 0 to 1 (Papineni et al., 2002).

    Words are lower-cased and parted as sacrebleu's 13a does; counts of 0 are smoothed exponentially; a text that is
    shorter than the reference nearest to it in length is penalised.
    """
    if n < 1:
        raise OptionError(f"n is {n!r}; it is the longest n-gram, 1 or more.")
    return float(_bleu(n).sentence_score(text, _several(references)).score) / 100


def rouge(text: str, references: Sequence[str]) -> dict[str, float]:
    """Return the F1 of ROUGE-1, ROUGE-2 and ROUGE-L of one text, stems compared (Lin, 2004)."""
    found = _rouge().score_multi(_several(references), text)
    return {f"ROUGE-{name[5:]}": float(score.fmeasure) for name, score in found.items()}


def meteor(text: str, references: Sequence[str]) -> float:
    """Return METEOR of one text, of exact words and stems, without synonyms (Banerjee and Lavie, 2005)."""
    score = _library("nltk.translate.meteor_score").meteor_score
    return float(score([tokens(one) for one in _several(references)], tokens(text), wordnet=_NoSynonyms()))


def tokens(text: str) -> list[str]:
    """Return the words of a text as METEOR compares them: lower-cased, without punctuation.

    >>> tokens("He's king of Lotharingia.")
    ['he', 's', 'king', 'of', 'lotharingia']
    """
    return WORD.findall(text.lower())


class _NoSynonyms:
    """Stands in for WordNet, and knows no word."""

    def synsets(self, word: str, pos: str | None = None) -> list[Any]:
        return []


@cache
def _bleu(n: int) -> Any:
    metrics = _library("sacrebleu.metrics")
    return metrics.BLEU(max_ngram_order=n, effective_order=True, lowercase=True)


@cache
def _rouge() -> Any:
    return _library("rouge_score.rouge_scorer").RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)


def _several(references: Sequence[str]) -> list[str]:
    if isinstance(references, str) or not len(references):
        raise OptionError(f"references are {references!r}; give a list of one text or more to compare with.")
    return list(references)


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise OptionError(
            f"summaries are compared by {name.partition('.')[0].replace('_', '-')}, which cannot be imported "
            f'({missing}). Install it: pip install "graphwright[bench]"'
        ) from missing
