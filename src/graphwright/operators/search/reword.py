"""The question in the words of the index: misspelt words corrected, acronyms spelt out, long questions condensed."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from graphwright.graph.evidence import Scores
from graphwright.kernels.ranking import top
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.unknown_words import ACRONYM, Context, Meaning, as_written, probability
from graphwright.text.scripts import UNSPACED
from graphwright.text.sentences import sentence_spans
from graphwright.text.words import terms, words

SPELLING_WEIGHTS = (
    -0.896, -1.214, -8.653, -0.023, 16.968, -3.548, 2.433, 1.374, -2.381, 4.342, 8.05, -0.387, -3.514
)  # fmt: skip
INITIALS_WEIGHTS = (-3.016, 0.123, 0.196, 2.991, 2.688, 0.893, -0.298)
"""Weights of the features of meanings, by scripts/fit_reword.py."""
LIKELY = 0.7
"""Least probability of a meaning that replaces a word: a wrong one costs more than none."""

WORD = re.compile(r"(?<![\w@#/\\.-])[^\W\d_]{2,}(?![\w@#/\\]|[.-]\w)")  # not a part of an identifier
_TEXTS = 2_000  # passages that are searched for a phrase
_LINES = 3  # lines of a question that is not condensed
_LONG, _KEPT = 128, 40  # words of a question that is condensed, and of what is kept
_ROUNDS = 2
_SHARE = 0.3  # of the best line's weight, which a line that is kept reaches


@dataclass(frozen=True, repr=False)
class Reword(Operator):
    """Put the question into words that the index has, for all steps after it.

    A word that no passage has is replaced by the word that it is most probably misspelt for, and an acronym by the
    phrase that it most probably stands for, if the probability is at least 0.7 (see `search.unknown_words`).
    Parts of identifiers stay as they are: a code that differs in a sign is another code. Of a question of more than
    three lines or 128 words, such as a pasted log, only the most informative words are kept (`condensed`). The trace
    notes every change.

    >>> from graphwright import Graph, start
    >>> graph = Graph.from_triples([("Kubernetes", "runs", "containers")])
    >>> Reword(WordIndex.of(["Kubernetes runs containers"], np.arange(1)))(start("What does Kuberntes run?", graph))
    State('What does Kubernetes run?': 2 nodes, 1 steps)
    """

    words: WordIndex
    gives = ()

    def apply(self, state: State, run: Run) -> State:
        """Set the question."""
        asked = state.question.text
        text = condensed(asked, self.words)
        if text != asked:
            run.note(f"the question was cut to its most informative words: {text}")
        for _ in range(_ROUNDS):  # a word that is corrected makes the next one surer
            changed = self._corrected(text, state, run)
            if changed == text:
                break
            text = changed
        return state if text == asked else state.with_(question=replace(state.question, text=text, asked=asked))

    def _corrected(self, text: str, state: State, run: Run) -> str:
        context = Context(self.words, text)

        def corrected(match: re.Match[str]) -> str:
            meaning = self._meaning(match.group(), context, state)
            if meaning:
                run.note(f"{match.group()!r} was read as {meaning!r}")
            return meaning or match.group()

        return WORD.sub(corrected, text)

    def _meaning(self, word: str, context: Context, state: State) -> str:
        """Return what a word stands for, "" for itself."""
        form = words(word)
        if len(form) != 1 or len(self.words.postings(form[0])[0]) or UNSPACED.search(word):
            return ""
        near = context.near_words(form[0])
        chances = probability(near, SPELLING_WEIGHTS)
        spelt = float(chances.max(initial=0.0))
        phrases = self._phrases(word, context, state) if len(word) in ACRONYM else []
        long = probability(phrases, INITIALS_WEIGHTS)
        if max(spelt, long.max(initial=0.0)) < LIKELY:
            return ""
        if long.max(initial=0.0) >= spelt:
            return phrases[int(long.argmax())].text
        return self._written(near[int(chances.argmax())].text, state, not word[0].islower())

    def _phrases(self, word: str, context: Context, state: State) -> list[Meaning]:
        rows = top(context.share, min(_TEXTS, len(context.share))).tolist()
        texts = [state.graph.passage(int(self.words.nodes[row])) for row in rows]
        return context.phrases(word, texts, rows)

    def _written(self, word: str, state: State, capital: bool) -> str:
        rows, _ = self.words.postings(word)
        node = int(self.words.nodes[rows[0]])
        return as_written(word, f"{state.graph.title_of(node)} {state.graph.passage(node)}", capital)


def condensed(text: str, index: WordIndex) -> str:
    """Return a question of up to three lines and 128 words unchanged, of a longer one the most informative words.

    A line weighs as much as the terms that one passage shares with it: the idf of each in the index, times its idf
    among the lines of the question, so that what is on every line counts little. Lines of up to 40 words in all are
    kept, and of them the words that the index has, in their order. One paragraph is cut by sentences.

    >>> index = WordIndex.of(["Reset the pump after E-17.", "The log has lines.", "Call us."], np.arange(3))
    >>> condensed("log line 1\\nlog line 2\\nlog line 3\\npump: E-17", index)
    'pump: E-17'
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) <= _LINES:
        if len(text.split()) <= _LONG:
            return text
        lines = [text[start:end] for start, end in sentence_spans(text)]
    lines = [part for line in dict.fromkeys(lines) for part in _pieces(line)]
    weights = _weights(lines, index)
    kept: list[int] = []
    room = _KEPT
    for at in np.argsort(-weights, kind="stable").tolist():
        size = len(lines[at].split())
        if size <= room and (not kept or weights[at] >= _SHARE * weights[kept[0]] > 0):
            kept.append(at)
            room -= size
    found = dict.fromkeys(word for at in sorted(kept) for word in lines[at].split() if _is_known(word, index))
    return " ".join(found) or text[: _LONG * 8]


def _is_known(word: str, index: WordIndex) -> bool:
    return any(len(index.postings(term)[0]) for term in terms(word))


def _pieces(line: str) -> list[str]:
    """Return a line in pieces of at most 40 words."""
    parts = line.split()
    return [" ".join(parts[at : at + _KEPT]) for at in range(0, len(parts), _KEPT)] if len(parts) > _KEPT else [line]


def _weights(lines: list[str], index: WordIndex) -> Scores:
    """Return the weight of each line: float64[n]."""
    found = [list(dict.fromkeys(terms(line))) for line in lines]
    counts = Counter(term for line in found for term in line)
    postings = {term: index.postings(term)[0] for term in counts}
    best = np.zeros(len(lines))
    for at, line in enumerate(found):
        known = [term for term in line if len(postings[term])]
        if known:
            own = [index.rarity(len(postings[term])) * np.log1p(len(lines) / counts[term] - 1) for term in known]
            rows, position = np.unique(np.concatenate([postings[term] for term in known]), return_inverse=True)
            weights = np.repeat(own, [len(postings[term]) for term in known])
            best[at] = np.bincount(position, weights, len(rows)).max()
    return best
