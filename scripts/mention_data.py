"""Read the sets that the mention detector is trained on, as texts with spans of names and the types they may have."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from graphwright.models.embedded.mentions import TYPES

SETS = ("wikigold", "crossner", "uner_ewt", "wnut17", "redocred")
UNANNOTATED = {
    "wikigold": ("date", "number"),
    "crossner": ("date", "number"),
    "uner_ewt": ("date", "number", "work", "event", "other"),
    "wnut17": ("date", "number", "event"),
    "redocred": (),
}
"""Types that a set does not annotate: a word outside its names may still be one of them."""
_MEANINGS = {
    "person": "person politician musicalartist writer scientist researcher PER",
    "place": "location country LOC astronomicalobject",
    "organisation": "organisation politicalparty band university ORG group corporation",
    "work": "book album song poem magazine academicjournal creative-work",
    "event": "event election conference",
    "date": "TIME",
    "number": "NUM",
    "other": "award product programlang",
}
LABELS: dict[str, tuple[int, ...]] = {
    label: (TYPES.index(kind),) for kind, labels in _MEANINGS.items() for label in labels.split()
}
LABELS |= dict.fromkeys(("MISC", "misc"), tuple(TYPES.index(kind) for kind in ("work", "event", "other")))
"""The types that a label of a set may mean. Words of other labels (genres, tasks, chemicals) are not trained on."""

_UNSPACED = frozenset([*".,;:!?)]}%'", "'s", "n't", "'re", "'ve", "'ll", "'d", "'m", "’s", "''"])  # no space before
_OPENING = frozenset(("(", "[", "$", "#"))  # no space after
_SIGNS = {"``": '"', "''": '"', "-LRB-": "(", "-RRB-": ")"}
Span = tuple[int, int]


class Record(NamedTuple):
    """A text of a set; `title`: characters of its title and line end; `names`: (start, end, label) each."""

    source: str
    text: str
    title: int
    names: list[tuple[int, int, str]]


def records(folder: Path) -> Iterator[Record]:
    """Yield the texts of all sets; `folder` holds those of names and Re-DocRED."""
    for source in SETS[:-1]:
        for file in sorted((folder / f"ner_{source}").glob("*.jsonl.gz")):
            for row in _rows(file):
                text, spans = detokenised(row["tokens"])
                names = [(spans[a][0], spans[b - 1][1], label) for a, b, label in _tagged(row["tags"])]
                yield Record(source, text, 0, names)
    for row in _rows(folder / "re_redocred/data.jsonl.gz"):
        yield _document(row)


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _document(row: dict[str, Any]) -> Record:
    begin = list(accumulate(map(len, row["sents"]), initial=0))
    text, spans = detokenised([token for sentence in row["sents"] for token in sentence])
    title = f"{row['title']}\n"
    names = set()
    for mention in (mention for entity in row["vertexSet"] for mention in entity):
        first, last = (begin[mention["sent_id"]] + at for at in mention["pos"])
        names.add((len(title) + spans[first][0], len(title) + spans[last - 1][1], mention["type"]))
    return Record(SETS[-1], title + text, len(title), sorted(names))


def detokenised(tokens: Sequence[str]) -> tuple[str, list[Span]]:
    """Join tokens as they are written, and return the characters of each."""
    parts: list[str] = []
    spans: list[Span] = []
    position, quoted, glued = 0, False, True
    for token in (_SIGNS.get(token, token) for token in tokens):
        if not token.strip():
            spans.append((position, position))
            continue
        if token == '"':
            spaced, after = not glued and not quoted, not quoted
            quoted = not quoted
        else:
            spaced, after = not glued and token not in _UNSPACED, token in _OPENING
        if spaced:
            parts.append(" ")
            position += 1
        spans.append((position, position + len(token)))
        parts.append(token)
        position, glued = position + len(token), after
    return "".join(parts), spans


def _tagged(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return the spans of BIO tags; where a set has no B-, neighbouring words of one label are one name."""
    spans: list[tuple[int, int, str]] = []
    open_label = ""
    for position, tag in enumerate(tags):
        prefix, _, label = tag.partition("-")
        if prefix == "I" and label == open_label:
            spans[-1] = spans[-1][0], position + 1, label
        elif label:
            spans.append((position, position + 1, label))
        open_label = label
    return spans
