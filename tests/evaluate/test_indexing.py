"""The index of a run: built from exactly the same corpus, and with a share of its edges removed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.toys import corpus_index

from graphwright import Graph, start
from graphwright.errors import OptionError
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.indexing import build_index, check_index, thinned
from graphwright.generate import GlobalEdges
from graphwright.methods.registry import make_method
from graphwright.models import HashEncoder
from graphwright.operators import EdgeSearch
from graphwright.operators.run import Run

ENCODER = HashEncoder(16)


def data(folder: Path, links: str) -> Experiment:
    folder.mkdir()
    rows = [{"id": i, "text": f"Text of {i}."} for i in "abc"]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "questions.jsonl").write_text(json.dumps({"id": 1, "question": "Which?", "gold_ids": ["a", "b"]}))
    if links:
        (folder / "links.tsv").write_text(links)
    return Experiment(folder, ("vector",))


def test_an_index_with_other_links_is_another_corpus(tmp_path: Path) -> None:
    experiment = data(tmp_path / "data", "a\tb\nb\tgone\nc\tc\n")
    subject = experiment.read()
    assert set(subject.checksums) == {"corpus.jsonl", "questions.jsonl", "links.tsv", "questions"}
    folder = tmp_path / "index"
    build_index(folder, experiment, subject, ENCODER, None)
    check_index(folder, experiment, subject, ENCODER)
    for links in (("b", "c"), ()):
        documents = [replace(d, links=links) if d.id == "a" else d for d in subject.documents]
        with pytest.raises(OptionError, match="document 'a' has another title, text, metadata or links"):
            check_index(folder, experiment, replace(subject, documents=documents), ENCODER)


def test_a_corpus_without_links_has_no_checksum_of_them(tmp_path: Path) -> None:
    assert set(data(tmp_path / "data", "").read().checksums) == {"corpus.jsonl", "questions.jsonl", "questions"}


SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


def edges(graph: Graph) -> list[tuple[int, str, int, str, tuple[int, ...]]]:
    c = graph.columns
    return sorted(
        (
            int(c.heads[e]),
            graph.triple(e)[1],
            int(c.tails[e]),
            graph.edge_text(e),
            tuple(c.edge_chunks.row(e).tolist()),  # type: ignore[union-attr]
        )
        for e in graph.edges.tolist()
    )


@pytest.mark.parametrize("share", [0.0, 0.1, 0.35, 0.5, 1.0])
def test_the_share_is_gone_and_what_is_left_is_as_it_was(share: float) -> None:
    sparser = thinned(SNAPSHOT, share, seed=2)
    whole, left = edges(SNAPSHOT.graph), edges(sparser.graph)
    assert len(left) == len(whole) - round(share * len(whole))
    rest = whole.copy()
    for edge in left:
        rest.remove(edge)  # each edge left is one that was there
    assert len(sparser.graph) == len(SNAPSHOT.graph) and sparser.passages is SNAPSHOT.passages
    assert len(SNAPSHOT.graph.edges) == len(whole)


def test_a_larger_share_takes_away_more_and_a_seed_decides_what() -> None:
    def of(share: float, seed: int) -> list[tuple[int, str, int, str, tuple[int, ...]]]:
        return edges(thinned(SNAPSHOT, share, seed).graph)

    fewer, more = of(0.5, 1), of(0.2, 1)
    assert all(fewer.count(edge) <= more.count(edge) for edge in fewer)
    assert of(0.5, 1) == fewer and of(0.5, 2) != fewer


def test_vectors_of_triples_are_those_of_the_edges_that_are_left() -> None:
    sparser = thinned(SNAPSHOT, 0.4)
    assert sparser.triples is not None and SNAPSHOT.triples is not None
    result = EdgeSearch(sparser.triples)(start(QUESTION, sparser.graph)).evidence
    assert result is not None and result.scores is not None and len(result)
    encoded = SNAPSHOT.encoder.encode([QUESTION])[0]
    for (_, (edge,)), score in zip(result, result.scores.tolist(), strict=True):
        text = SNAPSHOT.encoder.encode([sparser.graph.edge_text(int(edge))])[0]
        assert float(text @ encoded) == pytest.approx(score, abs=1e-3)
    assert len(GlobalEdges(sparser.triples, by_question=True)(start(QUESTION, sparser.graph), Run()))


@pytest.mark.parametrize("method", ["pathrag", "ppr", "vector"])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_methods_answer_over_it(method: str, share: float) -> None:
    sparser = thinned(SNAPSHOT, share)
    state = make_method(method, sparser)(start(QUESTION, sparser.graph))
    assert state.answer is not None
    if method == "vector":
        whole = make_method(method, SNAPSHOT)(start(QUESTION, SNAPSHOT.graph))
        assert state.passages is not None and whole.passages is not None
        assert np.array_equal(state.passages.ids, whole.passages.ids)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_from_0_to_1(share: float) -> None:
    with pytest.raises(OptionError, match=r"thinned\(share="):
        thinned(SNAPSHOT, share)
