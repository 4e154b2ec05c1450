"""Metrics of summaries against references, from BLEU to METEOR, by the libraries of the extra `bench`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache
from typing import Any

from graphwright.errors import OptionError
from graphwright.text.words import WORD

SUMMARY_METRICS = ("BLEU-1", "BLEU-2", "ROUGE-1", "ROUGE-2", "ROUGE-L", "METEOR")


def summary_scores(text: str, references: Sequence[str]) -> dict[str, float]:
    """Return all of `SUMMARY_METRICS` of a text against references, each from 0 to 1 (PathRAG, Table 4).

    BLEU takes several references together; ROUGE and METEOR use the reference that gives the most. BLEU-n has n-grams
    up to n, lower-cased, with exponential smoothing (Papineni et al., 2002). ROUGE is the F1 with stemming (Lin, 2004).
    METEOR (Banerjee and Lavie, 2005) aligns no synonyms, because WordNet would have to be downloaded. Raises
    OptionError without references, and without the extra `bench`.
    """
    if isinstance(references, str) or not len(references):
        raise OptionError(f"references are {references!r}; give a list of one text or more.")
    bleu, rouge, meteor = _scorers()
    scores = {f"BLEU-{n}": float(bleu[n].sentence_score(text, references).score) / 100 for n in bleu}
    scores |= {f"ROUGE-{name[5:]}": float(s.fmeasure) for name, s in rouge.score_multi(references, text).items()}
    tokens, *others = (WORD.findall(words.lower()) for words in (text, *references))
    return scores | {"METEOR": float(meteor(others, tokens, wordnet=_NoSynonyms()))}


@cache
def _scorers() -> tuple[dict[int, Any], Any, Any]:
    """Return the scorers of BLEU by n, of ROUGE, and of METEOR."""
    try:
        meteor = importlib.import_module("nltk.translate.meteor_score").meteor_score
        rouge = importlib.import_module("rouge_score.rouge_scorer")
        bleu = importlib.import_module("sacrebleu.metrics").BLEU
    except ImportError as error:
        raise OptionError(
            f"Metrics of summaries need sacrebleu, rouge-score and nltk, and one cannot be imported ({error}): "
            f'pip install "graphwright[bench]"'
        ) from error
    by_n = {n: bleu(max_ngram_order=n, effective_order=True, lowercase=True) for n in (1, 2)}
    return by_n, rouge.RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True), meteor


class _NoSynonyms:
    """An empty WordNet."""

    def synsets(self, word: str, pos: str | None = None) -> list[Any]:
        return []
