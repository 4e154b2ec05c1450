"""The printed result of a question and its explanation: anchors, items of evidence, paths and steps."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tests.cli.command import graphwright
from tests.data.formats.made import rivers_pdf
from tests.shared import CORPUS, GRAPHS, corpus_index

from graphwright import Bubble, Coverage, Evidence, FlowPaths, Graph, ToPassages, Unite, VectorSearch, explain, start
from graphwright.cli.asking import show_state
from graphwright.generate import AnswerIfEnough
from graphwright.models import ScriptedLLM
from graphwright.operators import GroupAnchors, NamesAndPhrases, Operator, ParseQuery, SpecialiseInContext
from graphwright.operators.query.parser import ScoredQuery
from graphwright.operators.run import Run
from graphwright.operators.state import Anchor, State
from graphwright.search.facts import Facts

SNAPSHOT = corpus_index().snapshot
QUESTION = "Which abbey did the mother of Lothair II found?"


def explained(state: State, width: int = 100) -> str:
    out = StringIO()
    explain(state, Console(file=out, width=width, highlight=False, color_system=None))
    return out.getvalue()


def section(text: str, title: str) -> str:
    """The part of an explanation under one title."""
    titles = r"^(Anchors|Steps|\w+: \d+ items?.*?) *$"
    parts = re.split(titles, text, flags=re.MULTILINE)
    return next(body for head, body in zip(parts[1::2], parts[2::2], strict=True) if head.strip().startswith(title))


def bubbled() -> State:
    assert SNAPSHOT.names is not None
    preview = VectorSearch(SNAPSHOT.passages) % 3 >> ToPassages() >> AnswerIfEnough(ScriptedLLM(["no", "no"]))
    groups = (
        NamesAndPhrases() >> SpecialiseInContext() >> GroupAnchors(SNAPSHOT.names, SNAPSHOT.triples, SNAPSHOT.words)
    )
    pieces = Bubble(SNAPSHOT.names) >> Coverage(SNAPSHOT.names) % 2 >> Unite() >> ToPassages()
    return (preview >> groups >> pieces)(start(QUESTION, SNAPSHOT.graph))


def test_explanation_shows_anchors_with_weights() -> None:
    state = bubbled()
    shown = section(explained(state), "Anchors")
    steps = [name for name in ("NamesAndPhrases", "SpecialiseInContext", "GroupAnchors") if name in shown]
    assert steps == ["NamesAndPhrases", "SpecialiseInContext", "GroupAnchors"]
    groups = shown[shown.index("GroupAnchors") :]
    for anchor in state.anchors or ():
        assert f"{anchor.weight:.2f}" in groups
    assert "Lothair II" in groups and " → " in groups and "(theme)" in shown and "(theme)" not in groups
    # What a step left as it was is not said again.
    between = shown[shown.index("Specialise") : shown.index("GroupAnchors")]
    assert "mother of Lothair II" in between and " 1.00   Lothair II  " not in between


def test_explanation_shows_candidates_best_first() -> None:
    state = bubbled()
    text = explained(state)
    ranked = next(s.after for s in state.trace if s.operator.startswith("Coverage"))
    assert ranked is not None and ranked.evidence is not None and ranked.evidence.scores is not None
    shown = section(text, "Coverage")
    for score in ranked.evidence.scores.tolist():
        assert f"{score:.3g}" in shown
    assert "score" in shown and "score" not in section(text, "Bubble") and "1 item\n" not in shown
    assert section(text, "Unite")


def test_explanation_shows_paths_with_directions() -> None:
    graph = GRAPHS["family"]
    seeds = Evidence.of_nodes([graph.id("Ermengarde of Tours"), graph.id("Teutberga")])
    state = FlowPaths(threshold=0.0)(start("?", graph, evidence=seeds))
    shown = section(explained(state), "FlowPaths")
    assert "reliability" in shown
    assert "Ermengarde of Tours — mother of → Lothair II — spouse → Teutberga" in " ".join(shown.split()) or (
        "Teutberga ← spouse — Lothair II ← mother of — Ermengarde of Tours" in " ".join(shown.split())
    )


def given(evidence: Evidence) -> State:
    """The explanation of a step that gave this evidence."""
    from dataclasses import dataclass

    @dataclass(frozen=True, repr=False)
    class Given(Operator):
        gives = ("evidence",)

        def apply(self, state: State, run: Run) -> State:
            return state.with_(evidence=evidence)

    return Given()(start("?", GRAPHS["family"]))


def test_explanation_shows_tree_triples_and_remaining_names() -> None:
    tree = Evidence.of_trees(GRAPHS["family"], [([2, 4, 5, 6, 0], [4, 5, 6])])
    shown = section(explained(given(tree)), "Given")
    assert [line.strip() for line in shown.splitlines() if " → " in line] == [
        "1   Lothair II — spouse → Waldrada",
        "Waldrada — mother of → Gisela",
        "Waldrada — mother of → Bertha",
    ]
    assert "Lothair I " in shown
    # A triple lists no nodes; edges that do not join the nodes in their order make no path.
    assert "Lothair II — spouse → Waldrada" in explained(given(Evidence.of_edges([4])))
    assert "Lothair II — spouse → Teutberga" in explained(given(Evidence.of_trees(GRAPHS["family"], [([2, 4], [3])])))


def test_explanation_cuts_long_items_with_count() -> None:
    graph = Graph.from_triples(
        [("hub", f"relation {i}", f"a leaf {i} with a name {'so ' * 30}long") for i in range(30)]
    )
    tree = Evidence.of_trees(graph, [(range(31), range(30))])
    state = start("?", graph, evidence=tree)
    shown = section(explained(Unite()(state)), "Unite")
    assert "and 18 more" in shown and "…" in shown and shown.count(" → ") == 12
    many = Evidence.of_edges(range(7)).union(Evidence.of_trees(GRAPHS["family"], [([0], [i]) for i in range(5)]))
    assert "12 items, the best 8" in explained(given(many))


def test_explanation_counts_single_nodes() -> None:
    text = explained(VectorSearch(SNAPSHOT.passages)(start(QUESTION, SNAPSHOT.graph)))
    assert "VectorSearch:" not in text and "Anchors" not in text
    assert "6 items: " in " ".join(text.split()) and "Bread" not in text.split("Steps")[0]


def test_explanation_of_first_step_without_result_shows_none() -> None:
    class NoQueries:
        def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
            return []

    trace = section(explained(ParseQuery(NoQueries())(start("?", SNAPSHOT.graph))), "Steps")
    assert "asks nothing" in " ".join(trace.split()) and "nodes" not in trace


def test_explanation_trace_shows_changes_and_notes() -> None:
    trace = " ".join(section(explained(bubbled()), "Steps").split())
    assert "3 passages: " in trace and "5 anchors" in trace and "2 anchors" in trace and "AnswerIfEnough(" in trace
    assert "reply did not fit" in trace
    # What stands in brackets inside of brackets is left out, however long it is.
    assert "0x" not in trace and "×" not in trace


@pytest.mark.parametrize("width", [100, 60])
def test_explanation_fits_terminal_width(width: int) -> None:
    assert all(len(line) <= width for line in explained(bubbled(), width).splitlines())


def test_explanation_escapes_terminal_controls() -> None:
    graph = Graph.from_triples([("a\x1b[2J", "r\x1b]0;x\x07", "b\x9b31m")])
    state = (NamesAndPhrases() >> Unite())(start("What is a\x1b[2J?", graph, evidence=Evidence.of_edges([0])))
    state = state.with_(anchors=(Anchor("x\x1b[2J", kind="theme"),))
    text = explained(state)
    assert not set(text) & set("\x1b\x07\x9b")


def test_explanation_of_missing_vectors_names_remedy_once(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in CORPUS), encoding="utf-8")
    made = graphwright("index", corpus, "--into", tmp_path / "index", "--embed", "passages")
    assert made.returncode == 0, made.stderr
    done = graphwright("ask", QUESTION, "--index", tmp_path / "index", "--method", "pathrag", "--json")
    for kind in ("names", "triples"):
        assert done.stderr.count(f"note: the index has no vectors of {kind}, so they were compared by words; ") == 1
    assert "--embed passages,names,triples" in done.stderr and json.loads(done.stdout)["method"] == "pathrag"


def test_show_prints_page_numbers(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    (tmp_path / "rivers.pdf").write_bytes(rivers_pdf())
    graphwright("index", tmp_path / "rivers.pdf", "--into", tmp_path / "i", "--embed", "passages")
    shown = graphwright("show", "rivers.pdf", "--index", tmp_path / "i").stdout
    assert shown.startswith("[page 1]\nThe river Mur\n") and "[page 3]\nThe river Raab" in shown
    part = graphwright("show", "rivers.pdf", "--index", tmp_path / "i", "--characters", "4-13")
    assert (part.stdout, part.stderr) == ("river Mur\n", "page 1\n")
    asked = graphwright("ask", "Where does the river Mur rise?", "--index", tmp_path / "i").stdout
    assert re.search(r"^\[1\] rivers\.pdf  .*  page \d, characters \d+-\d+$", asked, re.MULTILINE)
    none = graphwright("ask", "Who is the king of Norway?", "--index", tmp_path / "i").stdout
    assert none.startswith("The documents give no sure answer. Nearest text:")


def test_explain_in_python_equals_command(capsys: pytest.CaptureFixture[str]) -> None:
    state = bubbled()
    explain(state)
    printed = capsys.readouterr().out
    assert "Steps" in printed and "GroupAnchors" in printed
    show_state(state, 3, explain=True)
    assert capsys.readouterr().out.endswith(printed)
