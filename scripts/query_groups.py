"""Questions with candidate queries in words: a question, its likeliest candidates, and which are right.

    python scripts/query_groups.py --data FOLDER --weights first.npz --into groups.pkl [--worlds 14] [--simple 5000]

Writes for each source a list of groups. A group has pairs of a question without names and a candidate in words, the
likeliest candidates of the fitted trees among them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
import random
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from parser_data import (
    KGQA,
    Asked,
    Group,
    facts_of,
    gives_same,
    read_kgqa,
    right_of,
    shape_of_query,
    steps_of,
    worlds,
    written,
    written_names,
)  # fmt: skip
from parser_worlds import domains

from graphwright import Graph
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.protocols import Encoder, Floats, Usage
from graphwright.operators.query.checks import parts
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.graphs.parser import FEATURES, Reading, likeliest, result_keys
from graphwright.operators.query.graphs.scorer import WEIGHTS, ParserScorer, pair_of, read_scorer
from graphwright.operators.query.query import Named, OfType, Query
from graphwright.search.facts import Facts
from graphwright.search.relation_facts import relation_phrase

UNANSWERED = 0.5  # share of questions that are also asked of their graph without one of their relations
SOURCES = ("written", "worlds", "simple", "kgqa")
PROCESSES = 2


def groups(facts: Facts, asked: Sequence[Asked], encoder: Encoder, scorer: ParserScorer) -> Iterator[Group]:
    """Yield a group for each question, the likeliest candidates first, then right ones that are not among them."""
    execution = Execution(facts)
    for text, gold in asked:
        reading = Reading.of(text, facts, encoder, scorer.likeness, scorer.heads)
        if not (candidates := reading.candidates()):
            yield Group(text, [], *(np.zeros(0, np.float32),) * 2)
            continue
        right = right_of(execution, candidates, gold)
        features = reading.features(candidates)
        scores = scorer(features)
        order = likeliest(candidates, scores)
        missing = np.setdiff1d(np.flatnonzero(right), order)
        order = np.concatenate((order, missing[np.argsort(-scores[missing])][:2])).astype(int)
        pairs = [pair_of(reading.words, candidates[row], facts) for row in order.tolist()]
        kept = [candidates[row] for row in order.tolist()]
        keys = result_keys(facts, [candidate.query for candidate in kept], execution)
        gives = right[order] if not isinstance(gold, Query) else gives_same(execution, kept, gold)
        yield Group(text, pairs, right[order], gives, features[order], scores[order].astype(np.float32), keys)
        if len(execution.known) > 5_000:
            execution = Execution(facts)


def lacking_groups(facts: Facts, asked: Sequence[Asked], encoder: Encoder, scorer: ParserScorer) -> Iterator[Group]:
    """Yield groups of questions that their graph does not answer: without a relation or a thing that they ask for."""
    draw, lacking = random.Random(0), dict[str, list[Asked]]()
    for question in asked:
        named = {part.name for part in parts(question.gold) if isinstance(part, Named)}
        needed = [sorted({step.relation for step in steps_of(question.gold)}), sorted(named)]
        if any(needed) and draw.random() < UNANSWERED:
            lacking.setdefault(draw.choice(draw.choice(list(filter(None, needed)))), []).append(
                Asked(question.text, None)
            )
    for name, unanswered in lacking.items():
        yield from groups(without(facts, name), unanswered, encoder, scorer)


def untyped_groups(facts: Facts, asked: Sequence[Asked], encoder: Encoder, scorer: ParserScorer) -> Iterator[Group]:
    """Yield groups of questions over their graph without types, those that name none and keep their answers."""
    types, reduced = facts.type_relations, facts
    for name in types:
        reduced = without(reduced, name)
    kept = [own for own in asked if own.gold is None or is_untyped(own.gold, facts, reduced)]
    yield from groups(reduced, kept if types else [], encoder, scorer)


def is_untyped(gold: Any, facts: Facts, reduced: Facts) -> bool:
    """Return whether a query names no type, and gives the same of facts without types."""
    if any(isinstance(part, OfType) for part in parts(gold)):
        return False
    results = [(own, Execution(own).result(gold)) for own in (facts, reduced)]
    texts = [sorted(own.texts(found)) if isinstance(found, np.ndarray) else found for own, found in results]
    return texts[0] == texts[1] and {step.relation for step in steps_of(gold)}.isdisjoint(facts.type_relations)


def without(facts: Facts, removed: str) -> Facts:
    """Return facts without those that have a name as relation, subject or object."""
    triples = [
        (facts.text(subject), name, facts.text(object))
        for name, relation in ((name, facts.relation(name)) for name in facts.relations)
        for subject, object in zip(relation.subjects.tolist(), relation.objects.tolist(), strict=True)
    ]
    return Facts(Graph.from_triples([triple for triple in triples if removed not in triple]).columns)


class KnownVectors:
    """An encoder that keeps the vectors of texts: graphs without a relation have nearly the same."""

    def __init__(self) -> None:
        self.encoder, self.known = MiniLM(), dict[str, Floats]()
        self.id, self.dimension = self.encoder.id, self.encoder.dimension

    def encode(self, texts: Sequence[str], usage: Usage | None = None) -> Floats:
        """Return the vectors of texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        self.known |= dict(zip(new, self.encoder.encode(new), strict=True)) if new else {}
        return np.array([self.known[text] for text in texts], np.float32).reshape(-1, self.dimension)


def simple_groups(file: Path, count: int) -> Iterator[Group]:
    """Yield questions about one relation: the relation among others that are like it, forwards and backwards."""
    draw, encoder = random.Random(0), MiniLM()
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = draw.sample(list(map(json.loads, lines)), count)
    relations = sorted({row["relation"] for row in rows})
    names = [relation_phrase(name) for name in relations]
    vectors = encoder.encode(names)
    at = {name: i for i, name in enumerate(relations)}
    for row in rows:
        own = at[row["relation"]]
        near = np.argsort(-(vectors @ vectors[own]))[1:30].tolist()
        others = [*draw.sample(near, 5), *draw.sample(range(len(names)), 4)]
        others = [i for i in others if names[i] != names[own]]
        texts = [f"the {names[own]} of it", f"those whose {names[own]} is it"]
        texts += [f"the {names[i]} of it" if draw.random() < 0.7 else f"those whose {names[i]} is it" for i in others]
        right = np.zeros(len(texts), np.float32)
        right[0] = 1
        if draw.random() < UNANSWERED / 2:
            texts, right = texts[2:], right[2:]
        yield Group(row["question"], [(row["question"], text) for text in texts], right, right)


def main() -> None:
    """Write the groups."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with kgqa")
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--worlds", type=int, default=14, help="of each domain")
    parser.add_argument("--simple", type=int, default=5000)
    parser.add_argument("--measured", type=int, default=150, help="questions of each set that are only measured")
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=SOURCES[:-1])
    options = parser.parse_args()
    scorer = read_scorer(options.weights, FEATURES)
    jobs: list[tuple[str, ...]] = []
    if "written" in options.sources:
        jobs += [("written", str(part), name) for part in (0, 1, 2) for name in written_names(part)]
    if "worlds" in options.sources:
        jobs += [(first, domain.name) for domain in domains() for first in ("worlds", "others")]
    jobs += [("kgqa", name) for name in KGQA if "kgqa" in options.sources]
    found: dict[str, list[Group]] = {}
    with Pool(PROCESSES) as pool:
        for own in pool.imap_unordered(partial(_done, scorer=scorer, options=options), jobs):
            found |= own
            print(*own, flush=True)
    found = {name: found[name] for name in sorted(found)}
    if "simple" in options.sources:
        questions = options.data / "kgqa" / "simplequestions_fb" / "questions.jsonl.gz"
        found["simple"] = list(simple_groups(questions, options.simple))
    write(found, options.into)


def _done(job: tuple[str, ...], scorer: ParserScorer, options: argparse.Namespace) -> dict[str, list[Group]]:
    """Return the groups of a source: a written graph, the made worlds of a domain, or a set that is only measured."""
    source, *rest = job
    encoder = KnownVectors()
    if source == "kgqa":
        data = options.data / "kgqa"
        asked = read_kgqa(data, rest[0], options.measured, True)
        return {rest[0]: list(groups(facts_of(data / KGQA[rest[0]][0] / "kb.tsv"), asked, encoder, scorer))}
    name = " ".join(job)
    if source == "written":
        made = [(facts, asked) for _, facts, asked in written(int(rest[0]), names=rest[1:])]
        deep = []
    else:
        seed, count = (300_000, options.worlds) if source == "worlds" else (600_000, options.worlds // 3)
        made = list(worlds(rest[0], seed, count))
        deep = [(facts, list(filter(_is_deep, some))) for facts, some in worlds(rest[0], seed + 500, 3 * count)]
    found = {
        name: [g for facts, some in made for g in groups(facts, some, encoder, scorer)],
        f"{name} lacking": [g for facts, some in made for g in lacking_groups(facts, some, encoder, scorer)],
        f"{name} untyped": [
            g for facts, some in made if source == "written" for g in untyped_groups(facts, some, encoder, scorer)
        ],
        f"{name} deep": [g for facts, some in deep for g in groups(facts, some, encoder, scorer)],
    }
    return {own: some for own, some in found.items() if some}


def _is_deep(asked: Asked) -> bool:
    """Return whether a question takes three steps or more: few of the made ones do."""
    return asked.gold is not None and not isinstance(asked.gold, list) and shape_of_query(asked.gold)[0] >= 3


def write(found: dict[str, list[Group]], file: Path) -> None:
    """Write the groups of each source."""
    part = file.with_suffix(".part")
    with part.open("wb") as stream:
        pickle.dump(found, stream)
    part.replace(file)


if __name__ == "__main__":
    main()
