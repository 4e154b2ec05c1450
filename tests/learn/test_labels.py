"""Labels: stored in a file from which an interrupted run resumes, combined, and expanded to triples."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Graph
from graphwright.errors import BudgetError, DataError, OptionError
from graphwright.learn.candidates import SHORTEST, Candidate, Example, Examples, candidate_pool
from graphwright.learn.labels import (
    Label,
    Labels,
    intersection,
    make_labels,
    positive_edges,
    read_labels,
    union,
)
from graphwright.learn.refine import LabelledPath, LLMRefiner, NeighbourRefiner, Refiner, ShortestPathLabels
from graphwright.models import BudgetedLLM, HashEncoder, ScriptedLLM

PEOPLE = ("Anna", "Bert", "Carl", "Dora", "Emil", "Fred")
FILMS = Graph.from_triples(
    [(f"film {n}", "directed_by", who) for n, who in enumerate(PEOPLE)]
    + [(f"film {n}", "written_by", PEOPLE[n // 2]) for n in range(len(PEOPLE))]
    + [(f"film {n}", "release_year", "1990") for n in range(len(PEOPLE))]
)
ASKED = [
    Example(f"q{n}", f"who directed film {n}", (FILMS.id(f"film {n}"),), (FILMS.id(who),))
    for n, who in enumerate(PEOPLE)
]
BY, WRITTEN = (1,), (3,)
TWIN = NeighbourRefiner(HashEncoder())


def first_path(system: str, user: str) -> str:
    return '{"paths": [0]}'


def selected(source: int, ways: tuple[int, ...]) -> LabelledPath:
    return LabelledPath(Candidate(source, ways, SHORTEST), 1.0, 0.0)


def labels(graph: Graph, **rows: list[LabelledPath]) -> Labels:
    """Labels of questions by their ids, by a refiner that goes by nothing."""
    result = [Label(Example(name, f"? {name}", (0,), (1,)), tuple(some), 9, 5) for name, some in rows.items()]
    return Labels({"labels": 2, "graph": graph.columns.checksum, "refiner": "hand"}, tuple(result))


def test_labels_round_trip(tmp_path: Path) -> None:
    made = make_labels(FILMS, Examples(tuple(ASKED)), TWIN, tmp_path / "a.jsonl", nodes=500, length=3)
    again = read_labels(tmp_path / "a.jsonl", FILMS)
    assert again.about == made.about
    assert again.about | {"nodes": 500, "length": 3} == again.about and again.about["refiner"] == TWIN.id
    for item, other, question in zip(made.rows, again.rows, ASKED, strict=True):
        assert item.example == other.example == question
        counts = item.path_count, item.candidate_count
        assert counts == (other.path_count, other.candidate_count) and counts[1] <= counts[0]
        assert [k.candidate for k in item.paths] == [k.candidate for k in other.paths] != []
        for a, b in zip(item.paths, other.paths, strict=True):
            assert (b.support, b.near) == pytest.approx((a.support, a.near), abs=1e-4)
    # People read the paths by name.
    assert json.loads((tmp_path / "a.jsonl").read_text().splitlines()[1])["kept"][0]["path"] == "film 0 → [directed_by]"


def test_label_summary_counts_paths_at_each_stage(tmp_path: Path) -> None:
    made = make_labels(FILMS, ASKED, ShortestPathLabels(), tmp_path / "a.jsonl")
    result = made.summary()
    pools = [candidate_pool(FILMS, item) for item in ASKED]
    assert result["questions"] == 6 and result["without any"] == 0
    assert result["paths, max"] == max(p.paths for p in pools)
    assert result["candidates, mean"] == pytest.approx(sum(len(p.candidates) for p in pools) / 6)
    assert result["chosen, mean"] == pytest.approx(7 / 6)  # film 0 was written by who directed it
    assert Labels({}, ()).summary()["questions"] == 0


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.77, 1.0])
def test_interrupted_labelling_continues_to_same_file(tmp_path: Path, share: float) -> None:
    path = tmp_path / "labels.jsonl"
    made = make_labels(FILMS, ASKED, TWIN, path)
    whole = path.read_bytes()
    about = whole.index(b"\n") + 1
    path.write_bytes(whole[: about + round(share * (len(whole) - about))])
    again = make_labels(FILMS, ASKED, TWIN, path)
    assert path.read_bytes() == whole
    assert [row.example for row in again.rows] == ASKED
    assert [[k.candidate for k in row.paths] for row in again.rows] == [
        [k.candidate for k in row.paths] for row in made.rows
    ]


def test_empty_label_file_is_started_and_extended(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.touch()
    make_labels(FILMS, ASKED[:2], ShortestPathLabels(), path)
    made = make_labels(FILMS, ASKED, ShortestPathLabels(), path)
    assert [row.example.id for row in read_labels(path, FILMS).rows] == [item.id for item in ASKED]
    # What was not asked for this time is not given, though it stays in the file.
    few = make_labels(FILMS, ASKED[3:5], ShortestPathLabels(), path)
    assert few.rows == made.rows[3:5] and len(read_labels(path, FILMS).rows) == 6


OTHER = Graph.from_triples([(f"film {n}", "made_by", who) for n, who in enumerate(PEOPLE)])


@pytest.mark.parametrize(
    ("graph", "refiner", "bounds", "message"),
    [
        (FILMS, ShortestPathLabels(), {}, "refiner 'neighbours-"),
        (FILMS, NeighbourRefiner(HashEncoder(), share=0.5), {}, "refiner 'neighbours-"),
        (FILMS, TWIN, {"nodes": 10}, r"nodes 1000 \(now: 10\)"),
        (FILMS, TWIN, {"length": 2}, r"length 4 \(now: 2\)"),
        (OTHER, TWIN, {}, "graph '"),
    ],
)
def test_labels_of_other_settings_are_not_continued(
    tmp_path: Path, graph: Graph, refiner: Refiner, bounds: dict[str, int], message: str
) -> None:
    path = tmp_path / "labels.jsonl"
    make_labels(FILMS, ASKED[:3], TWIN, path)
    before = path.read_bytes()
    asked = [Example("q", "who made film 0", (graph.id("film 0"),), (graph.id("Anna"),))]
    with pytest.raises(OptionError, match=rf"has labels with other settings: {message}.*Write to another path"):
        make_labels(graph, asked, refiner, path, **bounds)
    assert path.read_bytes() == before


def test_labels_of_other_question_with_same_id_raise(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    make_labels(FILMS, ASKED, ShortestPathLabels(), path)
    before = path.read_bytes()
    mended = replace(ASKED[1], text="who wrote film 1", answers=(FILMS.id("Anna"),))
    with pytest.raises(OptionError, match="q1"):
        make_labels(FILMS, [ASKED[0], mended], ShortestPathLabels(), path)
    assert path.read_bytes() == before


def test_paid_labels_survive_exhausted_budget(tmp_path: Path) -> None:
    path, asked = tmp_path / "labels.jsonl", list[str]()

    def reply(system: str, user: str) -> str:
        asked.append(user)
        return '{"paths": [0]}'

    least = BudgetedLLM(ScriptedLLM(reply), max_tokens=0)
    with pytest.raises(BudgetError) as raised:
        make_labels(FILMS, ASKED, LLMRefiner(least), path)
    assert not asked and read_labels(path, FILMS).rows == ()
    each = int(str(raised.value).split("may take ")[1].split(" tokens")[0].replace(",", ""))
    with pytest.raises(BudgetError, match="Raise max_tokens"):
        make_labels(FILMS, ASKED, LLMRefiner(BudgetedLLM(ScriptedLLM(reply), max_tokens=2 * each)), path)
    paid = len(asked)
    assert 0 < paid < len(ASKED) and len(read_labels(path, FILMS).rows) == paid
    made = make_labels(FILMS, ASKED, LLMRefiner(BudgetedLLM(ScriptedLLM(reply), max_tokens=100 * each)), path)
    assert len(asked) == len(set(asked)) == len(ASKED)  # none is asked for twice
    assert [row.example for row in made.rows] == ASKED
    assert sorted(row.example.id for row in read_labels(path, FILMS).rows) == [item.id for item in ASKED]
    # Nothing is left to be asked for.
    assert make_labels(FILMS, ASKED, LLMRefiner(ScriptedLLM([])), path) == made


def test_paid_labels_survive_any_error(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"

    def reply(system: str, user: str) -> str:
        if ASKED[1].text in user:
            raise RuntimeError("the plug was pulled")
        return '{"paths": [0]}'

    with pytest.raises(RuntimeError, match="plug"):
        make_labels(FILMS, ASKED[:5], LLMRefiner(ScriptedLLM(reply)), path)
    assert {row.example.id for row in read_labels(path, FILMS).rows} == {"q0", "q2", "q3", "q4"}


def test_threaded_labelling_keeps_row_order(tmp_path: Path) -> None:
    messages: list[tuple[str, int, int]] = []
    asked = [replace(ASKED[n % 6], id=f"q{n:02}") for n in range(20)]
    made = make_labels(
        FILMS, asked, LLMRefiner(ScriptedLLM(first_path)), tmp_path / "a", progress=lambda *now: messages.append(now)
    )
    assert [row.example for row in read_labels(tmp_path / "a", FILMS).rows] == asked == [r.example for r in made.rows]
    assert messages == [(what, n, 20) for what in ("collect paths", "choose paths") for n in range(1, 21)]


def test_label_sources_combine_by_union_or_intersection() -> None:
    shared, one_alone, other_alone = selected(0, BY), selected(0, WRITTEN), selected(2, BY)
    item = labels(FILMS, a=[shared, one_alone], b=[shared], c=[one_alone])
    other = labels(FILMS, a=[other_alone, shared._replace(support=0.5)], b=[], d=[other_alone])
    either, both = union(item, other), intersection(item, other)
    assert {row.example.id: list(row.paths) for row in either.rows} == {
        "a": [shared, one_alone, other_alone],
        "b": [shared],
        "c": [one_alone],
        "d": [other_alone],
    }
    assert {row.example.id: list(row.paths) for row in both.rows} == {"a": [shared], "b": [], "c": []}
    assert either.about["refiner"] == "(hand | hand)" and both.about["refiner"] == "(hand & hand)"
    assert both.about["graph"] == FILMS.columns.checksum
    assert union(item, item).rows == intersection(item, item).rows == item.rows
    with pytest.raises(OptionError, match="of two graphs"):
        union(item, labels(OTHER))


def test_labels_of_other_graph_raise(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with pytest.raises(DataError, match=r"no such file\. Make labels"):
        read_labels(path, FILMS)
    make_labels(FILMS, ASKED[:1], ShortestPathLabels(), path)
    with pytest.raises(DataError, match="make them again for this graph"):
        read_labels(path, OTHER)


def test_label_file_with_cut_first_line_is_repaired(tmp_path: Path) -> None:
    whole = make_labels(FILMS, ASKED, ShortestPathLabels(), tmp_path / "whole.jsonl")
    content = (tmp_path / "whole.jsonl").read_bytes()
    for size in (0, 1, content.index(b"\n") // 2, content.index(b"\n"), content.index(b"\n") + 1, len(content) - 1):
        (tmp_path / "cut.jsonl").write_bytes(content[:size])
        assert make_labels(FILMS, ASKED, ShortestPathLabels(), tmp_path / "cut.jsonl") == whole
        assert (tmp_path / "cut.jsonl").read_bytes() == content


def test_labels_of_other_version_raise_and_stay(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"labels": 1}\n{"id": "a"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"of format 1, but this version reads format 2\."):
        read_labels(path, FILMS)
    with pytest.raises(DataError, match=r"of format 1, but this version reads format 2\."):
        make_labels(FILMS, ASKED, ShortestPathLabels(), path)
    assert len(path.read_bytes().splitlines()) == 2


@pytest.mark.parametrize(
    "content",
    [
        "",
        "nothing\n",
        "[]\n",
        '{"labels": "x"}\n',
        '{"labels": 2}\n{"id": "a"\n',
        "\xff\n",
        '{"labels": ' + "[" * 5000 + "\n",
    ],
)
def test_other_file_as_labels_raises_and_stays(tmp_path: Path, content: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(DataError, match="is not a file of labels"):
        read_labels(path, FILMS)
    if content:
        with pytest.raises(DataError, match="is not a file of labels"):
            make_labels(FILMS, ASKED, ShortestPathLabels(), path)
        assert path.read_bytes() == content.encode("latin-1")


def record(**changed: object) -> str:
    """A line of labels with other values; those of the path by the names "from" and "ways"."""
    path = {"from": 0, "ways": [1], "pool": "q", "support": 1.0, "near": 0.5}
    path |= {name.strip("_"): value for name, value in changed.items() if name in ("from_", "ways", "near")}
    row = {"id": "q", "question": "?", "entities": [0], "answers": [1], "paths": 1, "candidates": 1, "kept": [path]}
    return json.dumps(row | {name: value for name, value in changed.items() if name in row})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[]", "is not a file of labels|Input should be"),
        (record(candidates=None), "candidates: Input should be a valid integer"),
        (record(entities=["Graz"]), r"entities\[0\]: Input should be a valid integer"),
        (record(kept=5), "kept: Input should be a valid tuple"),
        (record(near=float("nan")), r"near: Input should be a finite number"),
        (record(entities=[10**6]), "the graph has no node 1000000"),
        (record(answers=[-1]), "the graph has no node -1"),
        (record(from_=10**30), "the graph has no node 10+"),
        (record(ways=[10**6]), "the graph has no relation 1000000"),
    ],
)
def test_label_line_outside_graph_raises(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(f'{{"labels": 2, "graph": "{FILMS.columns.checksum}"}}\n{record()}\n{line}\n', encoding="utf-8")
    with pytest.raises(DataError, match=rf"labels\.jsonl:3: .*({message})"):
        read_labels(path, FILMS)


@st.composite
def labelled(draw: st.DrawFn) -> tuple[Graph, Label]:
    """A small multigraph, no triple twice, and a label whose paths begin anywhere and go by any relations."""
    name = st.sampled_from("abcdef")
    rows = draw(st.lists(st.tuples(name, st.sampled_from("rs"), name), min_size=1, max_size=14, unique=True))
    graph = Graph.from_triples(rows)
    node, way = st.integers(0, len(graph) - 1), st.integers(0, 2 * len(graph.columns.relations) - 1)
    paths = draw(st.lists(st.tuples(node, st.lists(way, min_size=1, max_size=4)), max_size=3))
    answers = tuple(draw(st.sets(node, min_size=1, max_size=2)))
    some = tuple(selected(source, tuple(ways)) for source, ways in paths)
    return graph, Label(Example("q", "?", (0,), answers), some, 0, 0)


def plain_walks(graph: Graph, source: int, ways: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Nodes and edges of every walk by these ways, never straight back by a relation; loops are taken along them."""
    c = graph.columns
    result: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((source,), ())]
    for at, way in enumerate(ways):
        turned = at > 0 and way == ways[at - 1] ^ 1
        longer = []
        for nodes, edges in result:
            for edge in range(len(c.heads)):
                ends = int(c.heads[edge]), int(c.tails[edge])
                here, there = ends if way & 1 else ends[::-1]
                straight_back = turned and there == nodes[-2]
                allowed = (here != there or way & 1) and not straight_back
                if c.relation[edge] == way >> 1 and here == nodes[-1] and allowed:
                    longer.append(((*nodes, there), (*edges, edge)))
        result = longer
    return result


@given(labelled())
def test_label_marks_all_instances_of_its_paths(given: tuple[Graph, Label]) -> None:
    graph, row = given
    wanted: set[int] = set()
    for item in row.paths:
        walks = plain_walks(graph, item.candidate.source, item.candidate.ways)
        to_answers = [edges for nodes, edges in walks if nodes[-1] in row.example.answers]
        # What leads to no answer, as a condition that was kept, is positive wherever it leads.
        wanted.update(edge for edges in to_answers or [edges for _, edges in walks] for edge in edges)
    assert positive_edges(graph, row).tolist() == sorted(wanted)


def test_walk_through_answer_itself_is_positive() -> None:
    # Who wrote films by the director of film 0: Anna, who directed it, and Bert, who is no answer here.
    graph = Graph.from_triples(
        [(film, "directed_by", "Anna") for film in ("film 0", "film 1", "film 2")]
        + [("film 1", "written_by", "Anna"), ("film 2", "written_by", "Bert")]
    )
    row = Label(
        Example("q", "?", (graph.id("film 0"),), (graph.id("Anna"),)), (selected(graph.id("film 0"), (1, 0, 3)),), 0, 0
    )
    assert [graph.triple(edge) for edge in positive_edges(graph, row)] == [
        ("film 0", "directed_by", "Anna"),
        ("film 1", "directed_by", "Anna"),
        ("film 1", "written_by", "Anna"),
    ]


def test_repeated_triple_is_positive_twice() -> None:
    graph = Graph.from_triples([("a", "r", "b"), ("a", "r", "b"), ("a", "s", "b")])
    row = Label(Example("q", "?", (0,), (1,)), (selected(0, (1,)),), 0, 0)
    assert positive_edges(graph, row).tolist() == [0, 1]
