"""Measure extraction without a language model: precision and recall by hand, and the time it adds to encoding.

    python benchmarks/embedded/mentions.py --data DIR [--only labels speed]

- labels: every entity that the rules and the mention detector extract from 30 passages of MuSiQue, drawn before either
  was looked at on them, was judged by hand: right is a complete, real name, date, number or work; wrong are halves,
  joined names, openers of sentences, common words. Recall is the share of the names and dates listed by hand that an
  extractor has. Names are compared in their normal form. `benchmarks/labels/mentions.json` holds passages and labels;
  an entity that has no label is counted apart.
- speed: processor time to encode blocks of 100 passages of MuSiQue (title and text), and to encode and extract them, in
  alternation, with the median of the ratios.

Writes `mentions.json` and `mentions.md`.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from pathlib import Path

import numpy as np

from graphwright.data.question_sets.datasets import read_dataset
from graphwright.extract.extraction import Excerpt, Extraction
from graphwright.extract.extractors import EXTRACTORS, extractor_of
from graphwright.models.embedded.encoder import MiniLM
from graphwright.text.names import normal_form

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Record, arguments, parse, table, update_results

LABELS = Path(__file__).parents[1] / "labels/mentions.json"
ROUNDS, PASSAGES, BLOCK = 2, 600, 100


def labels(options: Namespace) -> list[Record]:
    """Return the precision and the recall of each extractor on the labelled passages."""
    passages = json.loads(LABELS.read_text("utf-8"))["passages"]
    rows = []
    for name in EXTRACTORS:
        excerpts = [Excerpt(passage["id"], passage["title"], passage["text"]) for passage in passages]
        right = wrong = unjudged = found = listed = 0
        extractions = extractor_of(name).extract(excerpts)
        for passage, extraction in zip(passages, extractions, strict=True):
            assert isinstance(extraction, Extraction)
            entities = dict.fromkeys(normal_form(mention.name) for mention in extraction.mentions)
            names, also, bad = (set(map(normal_form, passage[key])) for key in ("names", "also_right", "wrong"))
            names_right = names | also | {normal_form(passage["title"])}
            right += sum(entity in names_right for entity in entities)
            wrong += sum(entity in bad - names_right for entity in entities)
            unjudged += sum(entity not in names_right | bad for entity in entities)
            found, listed = found + sum(entity in entities for entity in names), listed + len(names)
        judged = right + wrong
        rows.append(
            {
                "extractor": name,
                "entities": judged + unjudged,
                "without label": unjudged,
                "precision": round(100 * right / judged, 1),
                "recall": round(100 * found / listed, 1),
            }
        )
    return rows


def speed(options: Namespace) -> list[Record]:
    """Return the time of encoding with extraction over that of encoding alone."""
    documents = list(read_dataset(options.data / "multihop/musique").documents(print))[:PASSAGES]
    excerpts = [Excerpt(document.id, document.title, document.text) for document in documents]
    texts = [f"{excerpt.title}\n{excerpt.text}" for excerpt in excerpts]
    encoder, rows = MiniLM(), []
    for name in EXTRACTORS:
        extractor, ratios = extractor_of(name), []
        for start in range(-BLOCK, PASSAGES * ROUNDS, BLOCK):
            block = slice(max(start, 0) % PASSAGES, max(start, 0) % PASSAGES + BLOCK)
            begun = time.process_time()
            encoder.encode(texts[block])
            encoded = time.process_time()
            extractor.extract(excerpts[block])
            extracted = time.process_time()
            alone = encoded - begun
            in_one_pass = hasattr(extractor, "extract_encoded")
            if start >= 0:  # the first block loads the models
                ratios.append((extracted - encoded + alone * (not in_one_pass)) / alone)
        low, ratio, high = (round(float(value), 3) for value in np.percentile(ratios, [25, 50, 75]))
        rows.append({"extractor": name, "first quartile": low, "ratio": ratio, "third quartile": high})
    return rows


PARTS = {"labels": labels, "speed": speed}


def page(results: Record) -> str:
    """Return the tables of all parts."""
    parts = ["# Extraction without a language model"]
    for name, rows in results.items():
        parts += [f"## {name.capitalize()}", table(list(rows[0]), [list(row.values()) for row in rows])]
    return "\n\n".join(parts)


def main() -> None:
    """Run the parts asked for, and write all results that there are."""
    options = parse(arguments(__doc__, parts=list(PARTS)))
    for name in options.only:
        results = update_results(options.out / "mentions.json", [name], PARTS[name](options), page, list(PARTS))
    print(page(results))


if __name__ == "__main__":
    main()
