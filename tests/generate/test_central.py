"""What is central: the middle of what there is, in an order that repeats nothing, at a bounded cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from tests.toys import GRAPHS, corpus_index, vectors_of

from graphwright import HashEncoder, Index, OptionError, Settings, VectorIndex, start
from graphwright.generate.central import CentralReader, CentralSearch, most_central
from graphwright.index.vector_index import normalised
from graphwright.models.protocols import Floats

SNAPSHOT = corpus_index().snapshot
ENCODER = HashEncoder()
ASK = "What are the main themes?"


@given(arrays(np.int8, st.tuples(st.integers(1, 8), st.just(4)), elements=st.integers(0, 5)), st.integers(1, 9))
def test_each_is_the_best_of_those_left_and_values_descend(raw: NDArray[np.int8], k: int) -> None:
    vectors = normalised(raw.astype(np.float32))
    counts = vectors @ vectors.mean(axis=0)
    best, values = most_central(vectors, counts, k)
    assert (np.diff(values) <= 0).all() and len(set(best.tolist())) == len(best) <= k
    scale = max(float(counts.max()), 1e-9)
    for taken in range(len(best) + 1):
        likeness = [max((float(v @ vectors[b]) for b in best[:taken]), default=0.0) for v in vectors]
        left = [i for i in range(len(raw)) if i not in best[:taken] and likeness[i] < 0.8999]
        value = {i: 0.7 * float(counts[i]) / scale - 0.3 * likeness[i] for i in left}
        if taken == len(best):
            assert taken == k or not left
        else:
            assert values[taken] >= max(value.values(), default=-np.inf) - 1e-5  # at 0.9 rounding decides
            assert values[taken] == pytest.approx(
                0.7 * counts[best[taken]] / scale - 0.3 * likeness[best[taken]], abs=1e-5
            )


def test_the_most_central_comes_first_and_what_says_the_same_not_at_all() -> None:
    near, far = [1.0, 0.1, 0.0], [0.3, 0.0, 1.0]
    index = VectorIndex.from_array([near, near, near, far, [0.9, 0.2, 0.1]])
    found = CentralSearch(index)(start(ASK, GRAPHS["line"])).evidence
    assert found is not None and found.nodes.tolist() == [4, 3]


def test_the_question_is_not_looked_at_and_a_part_of_a_graph_is_kept_to() -> None:
    search, graph = CentralSearch(SNAPSHOT.passages), SNAPSHOT.graph
    one, other = (search(start(q, graph)).evidence for q in (ASK, "Bread?"))
    assert one is not None and other is not None and one.identities() == other.identities()
    assert sorted(one.nodes.tolist()) == SNAPSHOT.passages.ids.tolist()
    part = graph.part(SNAPSHOT.passages.ids[:2])
    assert sorted(search(start(ASK, part)).evidence.nodes.tolist()) == SNAPSHOT.passages.ids[:2].tolist()  # type: ignore[union-attr]
    assert len(search(start(ASK, graph.part([]))).evidence) == 0  # type: ignore[arg-type]


def test_the_cost_is_bounded_by_a_sample_from_first_to_last() -> None:
    graph = GRAPHS["club"]
    found = CentralSearch(vectors_of(graph), sample=5)(start(ASK, graph)).evidence
    assert found is not None and sorted(found.nodes.tolist()) == [0, 8, 16, 24, 33]
    assert len(CentralSearch(vectors_of(graph), found=3)(start(ASK, graph)).evidence) == 3  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="sample=0"):
        CentralSearch(vectors_of(graph), sample=0)


@dataclass(frozen=True)
class Counting:
    """Counts the texts that it is given to encode."""

    counts: list[int] = field(default_factory=list)

    def encode(self, texts: Sequence[str]) -> Floats:
        self.counts.append(len(texts))
        return ENCODER.encode(texts)


PASSAGES = [
    "Towns\nThe river Mur flows through Graz and past a green hill. Trams cross the bridges of the town by day.",
    "Towns\nLeoben brews beer where the river Mur bends around the old town. Miners founded a school there.",
    "Towns\nAt Bruck another river joins the Mur, and trains change direction. Few of the travellers stay.",
    "Towns\nMurau has many a mill besides the river, a castle and a brewery. Snow lies there until the spring.",
    "Towns\nJudenburg once traded in lavender from the hills above the town. Its tower is the tallest around.",
    "Towns\nCars race near Knittelfeld, and the river is hardly heard there. The railway built its workshops there.",
    "Towns\nVines grow south of Spielfeld, where the river becomes the border. Lorries wait there every day.",
    "Towns\nRadkersburg has warm springs beside the river and a square of old houses. The walls still stand.",
]


def test_one_full_sentence_of_each_of_several_passages_is_quoted() -> None:
    spans = CentralReader(ENCODER).read(ASK, PASSAGES)
    assert len(spans) == 6 == len({span.passage for span in spans})
    for span in spans:
        text = PASSAGES[span.passage][span.start : span.end]
        assert 40 <= len(text) <= 400 and text.endswith(".") and "\n" not in text
    assert [s.score for s in spans] == sorted((s.score for s in spans), reverse=True)


@pytest.mark.parametrize("named", [1, 4])
def test_what_the_question_names_counts(named: int) -> None:
    sentence = PASSAGES[named].partition("\n")[2].split(".")[0]
    spans = CentralReader(ENCODER, most=1).read(f"Summarise this: {sentence}", PASSAGES)
    assert [PASSAGES[s.passage][s.start : s.end] for s in spans] == [f"{sentence}."]


def test_no_more_than_so_many_sentences_are_embedded_from_first_to_last() -> None:
    encoder = Counting()
    long = [
        "Title\n" + " ".join(f"The {i} of passage {n} stands by the {i * 7 + n} in row {i * n}." for i in range(900))
        for n in range(9)
    ]
    spans = CentralReader(encoder, sentences=50).read(ASK, long)
    assert 40 < sum(encoder.counts) <= 1 + 9 + 50 and len({span.passage for span in spans}) > 3
    assert max(span.start for span in spans) > 10_000


def test_where_there_are_no_full_sentences_lines_are_quoted() -> None:
    assert len(CentralReader(ENCODER).read(ASK, ["- bread\n- milk", "- rivers\n- mills"])) == 2
    assert CentralReader(ENCODER).read(ASK, []) == [] == CentralReader(ENCODER).read(ASK, ["", " \n "])


@given(
    st.lists(
        st.sampled_from([*PASSAGES, "", "A\nB", "東京は日本の首都であり、世界最大級の都市でもある。" * 3]), max_size=6
    )
)
def test_spans_are_of_the_passages_and_one_of_each(passages: list[str]) -> None:
    spans = CentralReader(ENCODER).read(ASK, passages)
    assert len({span.passage for span in spans}) == len(spans) <= 6
    assert all(passages[s.passage][s.start : s.end].strip() for s in spans)


def test_a_long_document_counts_for_more_than_a_short_one_and_does_not_drown_many(tmp_path) -> None:
    log = "\n\n".join(
        f"Day {day}. The wind blew ship {3 * day} to berth {7 * day} of the harbour." for day in range(200)
    )
    names = ["Au", "Bo", "Cs", "Do", "Ek", "Fa", "Gy", "Ho", "Ig", "Ju", "Ka", "Lo", "Me", "Ny", "Os", "Pu"]
    notes = [f"Bakers bake bread in the village of {name}, and sell bread." for name in names]
    documents = [{"id": "log", "title": "Log", "text": log}]
    documents += [{"id": f"n{at}", "title": f"Note {at}", "text": text} for at, text in enumerate(notes)]
    with Index.create(tmp_path / "i", encoder=ENCODER, settings=Settings(chunk_tokens=40, overlap=0)) as index:
        index.add(documents)
        snapshot = index.snapshot
        assert len(snapshot.graph.passages.rows_of_document["log"]) > 36  # type: ignore[union-attr]
        found = CentralSearch(snapshot.passages, found=6)(start(ASK, snapshot.graph)).evidence
        assert found is not None
        of = {snapshot.graph.passages.of(int(node)).document for node in found.nodes}  # type: ignore[union-attr]
    assert "log" in of and len(of) > 2


def test_a_broad_question_that_names_something_quotes_what_is_near_it_alone() -> None:
    board = "The minutes of the board meeting name the budget of the harbour."
    passages = [f"Minutes\n{board}", "Bread\nBread is baked from dough by bakers in the early morning hours."]
    [span] = CentralReader(ENCODER).read("Summarise the minutes of the board meeting.", passages)
    assert passages[span.passage][span.start : span.end] == board
    # Where nothing is near, the nearest is all there is.
    assert CentralReader(ENCODER).read("Summarise quantum chromodynamics.", passages)
