"""Measure the tokens of extraction by a language model, and what merging entities does to retrieval.

    python benchmarks/embedded/extraction.py --data DIR [--only tokens resolution]

- tokens: both kinds read the 1,890 passages of MuSiQue, one chunk each, and a stand-in for the model replies with the
  names and triples that a language model found in them (HippoRAG's OpenIE). The full reply adds to each name a type and
  its first triple as the description, and to each triple a sentence of its own words and its relation as the keyword:
  the least that the prompt asks for, so that the share of the triples is an upper bound. Tokens are counted by the rule
  of the estimates (four characters) and by the WordPiece tokenizer of the embedded encoder. Writes `extraction.json`
  and `extraction.md`.
- resolution: recall@10 of `multihop` and `hybrid` on MuSiQue (given triples, and offline extraction) with each way
  to merge entities (`Settings.resolve`), on all questions, beside the number of entities and the difference to merging
  by normal forms alone with its p value (paired randomisation). Writes `resolution.json` and `resolution.md`.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from graphwright.data.question_sets.datasets import read_dataset
from graphwright.data.records.openie import OpenieRecord, read_openie
from graphwright.evaluate.metrics import recall_at_k
from graphwright.evaluate.statistics import paired_test
from graphwright.extract.extraction import Excerpt, Extractor
from graphwright.extract.llm import KINDS, extraction_prompt
from graphwright.extract.rules import LexicalExtractor, Precomputed
from graphwright.graph.graph import Kind
from graphwright.index_folder.index import Index
from graphwright.models.budget import estimated_tokens
from graphwright.models.embedded.encoder import MiniLM
from graphwright.store.settings import Settings

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import MULTIHOP, SPACES, Record, Rows, arguments, cached_encoder, p_value, parse, table, write_results

Count = Callable[[str], int]


def tokens(options: Namespace) -> None:
    """Count the tokens of prompts and replies of both kinds."""
    data = read_dataset(options.data / "multihop" / "musique")
    documents = {document.id: document for document in data.documents(print)}
    records = list(read_openie(options.data / "multihop" / "musique" / "openie.jsonl", print))
    counts: dict[str, Count] = {"four characters": estimated_tokens, "WordPiece": _word_pieces}
    rows = []
    for name, count in counts.items():
        read = sum(count(documents[record.id].text) for record in records)
        for kind in KINDS.values():
            prompt = completion = 0
            for record in records:
                document = documents[record.id]
                excerpt = Excerpt(document.id, document.title, document.text)
                prompt += sum(map(count, extraction_prompt(excerpt, kind)))
                completion += count(REPLY_OF[kind.name](record))
            row = {"counted by": name, "extraction": kind.name, "chunks": len(records), "text": read}
            rows.append(row | {"prompts": prompt, "replies": completion})
    write_results(options.out / "extraction.json", rows, _page(rows))


def _word_pieces(text: str) -> int:
    return MiniLM().count_tokens([text])[0]


def _page(rows: Sequence[Record]) -> str:
    lines = ["# Tokens of extraction by a language model", ""]
    header = ["counted by", "extraction", "prompts", "replies", "replies per token of text"]
    cells = [(*(r[name] for name in header[:4]), f"{r['replies'] / r['text']:.2f}") for r in rows]
    lines.append(table(header, cells))
    for full, triples in zip(rows[::2], rows[1::2], strict=True):
        shares = {part: triples[part] / full[part] for part in ("prompts", "replies")}
        whole = (triples["prompts"] + triples["replies"]) / (full["prompts"] + full["replies"])
        parts = ", ".join(f"{part} {share:.2f}" for part, share in shares.items())
        lines.append(f"Triples as a share of full, {full['counted by']}: {parts}, together {whole:.2f}.\n")
    return "\n".join(lines)


def _full_reply(record: OpenieRecord) -> str:
    """Return the reply of full extraction that has a record's names and triples."""
    statements: dict[str, str] = {name: f"{name}." for name in record.entities}
    for triple in reversed(record.triples):
        statements |= dict.fromkeys((triple[0], triple[2]), f"{' '.join(triple)}.")
    entities = [{"name": name, "type": "concept", "description": text} for name, text in statements.items()]
    relations = [
        {"source": h, "relation": r, "target": t, "description": f"{h} {r} {t}.", "keywords": [r]}
        for h, r, t in record.triples
    ]
    return json.dumps({"entities": entities, "relations": relations}, ensure_ascii=False)


def _triples_reply(record: OpenieRecord) -> str:
    """Return the reply of the extraction of triples that has a record's names and triples."""
    joined = {name for h, _, t in record.triples for name in (h, t)}
    names = [name for name in record.entities if name not in joined]
    return json.dumps({"triples": record.triples, "names": names}, ensure_ascii=False)


REPLY_OF: dict[str, Callable[[OpenieRecord], str]] = {"full": _full_reply, "triples": _triples_reply}


RESOLUTION: dict[str, tuple[str, ...]] = {
    "forms": (),
    "aliases": ("aliases",),
    "vectors": ("vectors",),
    "aliases, vectors": ("aliases", "vectors"),
}
SETS = ("musique-openie", "musique")


def resolution(options: Namespace) -> None:
    """Measure recall@10 with each way to merge entities."""
    known = Rows(options.work / "resolution.jsonl", "set", "merged by", "method")
    for label in SETS:
        _measure_set(options, label, known)
    rows = list(known.rows.values())
    header = ["set", "merged by", "entities", "method", "recall@10", "difference", "p"]
    cells = [
        (r["set"], r["merged by"], r["entities"], r["method"], f"{r['recall']:.2f}", f"{r['difference']:+.2f}", r["p"])
        for r in rows
    ]
    page = "# Merging of entities\n\n" + table(header, cells)
    write_results(options.out / "resolution.json", [{**r, "scores": None} for r in rows], page)


def _measure_set(options: Namespace, label: str, known: Rows) -> None:
    """Add the rows of a set; one with another merge is compared with the row of normal forms alone."""
    name, extraction = MULTIHOP[label]
    data = read_dataset(options.data / "multihop" / name)
    documents, questions = list(data.documents(print)), [q for q in data.questions if q.gold]
    extractor: Extractor = LexicalExtractor()
    if extraction == "openie":
        extractor = Precomputed.of(read_openie(options.data / "multihop" / name / "openie.jsonl", print))
    encoder = cached_encoder(options.work)
    for merged_by, resolve in RESOLUTION.items():
        if (label, merged_by, "hybrid") in known:
            continue
        folder, settings = options.work / "resolution" / label / merged_by, Settings(embed=SPACES[:2], resolve=resolve)
        index = Index(folder, encoder=encoder, extractor=extractor, settings=settings)
        index.add(documents)
        entities = int((index.graph.columns.kinds == Kind.ENTITY).sum())
        for method in ("multihop", "hybrid"):
            states = index.retrieve_many([q.text for q in questions], method, top_k=10)
            ranked = [[passage.document for passage in state.passages or ()] for state in states]
            scores = [100 * recall_at_k(r, set(q.gold), 10) for r, q in zip(ranked, questions, strict=True)]
            base = known[label, "forms", method]["scores"] if resolve else scores
            mean, difference = float(np.mean(scores)), float(np.mean(scores) - np.mean(base))
            p = p_value(paired_test(scores, base) if scores != base else 1.0)
            row = {"set": label, "merged by": merged_by, "entities": entities, "method": method}
            known.add({**row, "recall": mean, "difference": difference, "p": p, "scores": scores})
        index.close()


PARTS = {"tokens": tokens, "resolution": resolution}


def main() -> None:
    """Run the parts asked for."""
    options = parse(arguments(__doc__, parts=list(PARTS)))
    for name in options.only:
        PARTS[name](options)


if __name__ == "__main__":
    main()
