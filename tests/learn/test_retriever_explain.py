"""Chains ordered by the likelihood of their relation path and the probabilities of their steps, worked by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from tests.toys import untrained

from graphwright import Evidence, Graph, Triples, start
from graphwright.errors import OptionError
from graphwright.generate import TargetAnswer
from graphwright.graph.evidence import Ints, Scores
from graphwright.graph.walks import walk_text
from graphwright.learn import Checkpoint, Explain
from graphwright.learn.retriever import Retriever, StepModel
from graphwright.models import HashEncoder
from graphwright.operators.operator import Operator
from graphwright.operators.rerank.scorer import ScoreFunction
from graphwright.operators.run import Run
from graphwright.operators.state import State


@dataclass(frozen=True, repr=False)
class Told(Retriever):
    """A retriever that was told the probability of each triple, and at how many steps a path ends."""

    probabilities: tuple[float, ...] = ()
    steps: int = 0

    def search(self, k: int) -> Operator:
        return Triples() % k

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        return lambda pieces: np.array([np.mean(np.array(self.probabilities)[edges]) for _, edges in pieces])

    def step_model(self, state: State, run: Run) -> StepModel:
        def probabilities(nodes: Ints, edges: Ints) -> Scores:
            return np.array(self.probabilities)[edges]

        return StepModel(probabilities, probabilities, lambda ways: -float(self.steps > 0 and len(ways) != self.steps))


def messages(*probabilities: float, steps: int = 0) -> Told:
    return Told(Checkpoint("told", {}), HashEncoder(), probabilities=probabilities, steps=steps)


def explained(graph: Graph, explain: Explain, *entities: str, edges: list[int] | None = None) -> Evidence:
    """The chains of a graph's triples, from these entities."""
    evidence = Evidence.of_edges(graph.edges if edges is None else edges)
    result = explain(start("?", graph, entities=entities, evidence=evidence)).evidence
    assert result is not None and result.render is walk_text
    return result


def scored(graph: Graph, explain: Explain, *entities: str) -> list[tuple[str, float]]:
    result = explained(graph, explain, *entities)
    assert result.scores is not None
    return list(zip(result.texts(graph), result.scores.round(4).tolist(), strict=True))


def mean_log(*probabilities: float) -> float:
    return sum(map(math.log, probabilities)) / len(probabilities)


FILMS = Graph.from_triples(
    [
        ("Heat", "by", "Mann"),
        ("Ali", "by", "Mann"),
        ("Heat", "stars", "Pacino"),
        ("Ali", "stars", "Smith"),
        ("Heat", "year", "1995"),
    ]
)


def test_relation_path_score_is_mean_log_probability() -> None:
    # From Mann to his films with a mean of 0.7, and from these to their actors with 0.8. Only Heat has a year, so by it
    # one comes with 0.9 and goes on with 0.1.
    result = scored(FILMS, Explain(messages(0.9, 0.5, 0.9, 0.7, 0.1), length=2), "Mann")
    assert result == [
        ("Mann → [by⁻¹] → Heat → [stars] → Pacino", pytest.approx(mean_log(0.7, 0.8), abs=1e-4)),
        ("Mann → [by⁻¹] → Ali → [stars] → Smith", pytest.approx(mean_log(0.7, 0.8), abs=1e-4)),
        ("Mann → [by⁻¹] → Heat", pytest.approx(mean_log(0.7), abs=1e-4)),
        ("Mann → [by⁻¹] → Ali", pytest.approx(mean_log(0.7), abs=1e-4)),
        ("Mann → [by⁻¹] → Heat → [year] → 1995", pytest.approx(mean_log(0.9, 0.1), abs=1e-4)),
    ]
    assert result[0][1] == result[1][1] == round(math.log(0.7 * 0.8) / 2, 4) == -0.2899


def test_explain_ends_where_likelihood_is_best() -> None:
    for steps, longer in ((2, True), (1, False)):
        chains = Explain(messages(0.9, 0.9, 0.6, 0.6, 0.01, steps=steps), paths=1)
        answer = (chains >> TargetAnswer(tied=True))(
            start("?", FILMS, entities=["Mann"], evidence=Evidence.of_edges(FILMS.edges))
        ).answer
        assert answer is not None
        assert answer.text.splitlines() == (["Pacino", "Smith"] if longer else ["Heat", "Ali"])


def test_impossible_path_has_finite_score() -> None:
    assert scored(FILMS, Explain(messages(1.0, 1.0, 0.0, 0.0, 0.0), length=1), "Mann")[0][1] == 0
    none = scored(FILMS, Explain(messages(0.0, 0.0, 0.0, 0.0, 0.0), length=1), "Mann")
    assert none[0][1] == round(mean_log(0.001), 4)


def test_explain_finds_longer_chain_to_node() -> None:
    graph = Graph.from_triples([("a", "near", "c"), ("a", "child", "b"), ("b", "child", "c")])
    result = scored(graph, Explain(messages(0.2, 0.8, 0.9)), "a")
    assert result[0] == ("a → [child] → b → [child] → c", pytest.approx(mean_log(0.8, 0.9), abs=1e-4))
    assert ("a → [near] → c", pytest.approx(mean_log(0.2), abs=1e-4)) in result


def test_explain_gives_one_walk_per_end() -> None:
    graph = Graph.from_triples([("a", "r", "b"), ("a", "r", "c"), ("b", "s", "x"), ("c", "s", "x"), ("c", "s", "y")])
    result = scored(graph, Explain(messages(0.9, 0.5, 0.6, 0.8, 0.4, steps=2), paths=1), "a")
    both = mean_log(0.7, 0.6)  # the triple of the walk that is not shown counts too
    assert result == [
        ("a → [r] → b → [s] → x", pytest.approx(both, abs=1e-4)),
        ("a → [r] → c → [s] → y", pytest.approx(both, abs=1e-4)),
    ]


def test_explain_does_not_walk_back() -> None:
    # Both are of one genre: from either one comes to the other, by triples that the step before took.
    graph = Graph.from_triples(
        [("a", "made", "b"), ("a", "made", "d"), ("b", "genre", "c"), ("d", "genre", "c"), ("e", "genre", "c")]
    )
    chains = dict(scored(graph.part(range(4)), Explain(messages(0.9, 0.9, 0.9, 0.9, 0.9)), "a"))
    assert chains["a → [made] → b → [genre] → c"] == pytest.approx(mean_log(0.9), abs=1e-4)
    back = pytest.approx(mean_log(0.9, 0.9, 0.001), abs=1e-4)
    assert chains["a → [made] → b → [genre] → c → [genre⁻¹] → d"] == back
    # What is new there counts, and that alone.
    chains = dict(scored(graph, Explain(messages(0.9, 0.9, 0.9, 0.9, 0.6)), "a"))
    assert chains["a → [made] → b → [genre] → c → [genre⁻¹] → e"] == pytest.approx(mean_log(0.9, 0.9, 0.6), abs=1e-4)


def test_explain_finds_answer_on_way_to_itself() -> None:
    # Who wrote films by the director of Heat: Mann, who directed them, wrote the one, and Roth the other.
    graph = Graph.from_triples(
        [("Heat", "by", "Mann"), ("Ali", "by", "Mann"), ("Ali", "written by", "Mann"), ("Thief", "by", "Mann"),
         ("Thief", "written by", "Roth")]
    )  # fmt: skip
    asked = start("?", graph, entities=["Heat"], evidence=Evidence.of_edges(graph.edges))
    state = (Explain(messages(0.9, 0.9, 0.9, 0.9, 0.9, steps=3), paths=1) >> TargetAnswer(tied=True))(asked)
    assert state.evidence is not None and state.answer is not None
    assert state.evidence.texts(graph) == [
        "Heat → [by] → Mann → [by⁻¹] → Ali → [written by] → Mann",
        "Heat → [by] → Mann → [by⁻¹] → Thief → [written by] → Roth",
    ]
    assert state.answer.text.splitlines() == ["Mann", "Roth"]


def test_explain_skips_improbable_triples() -> None:
    told_ = messages(0.9, 0.9, 0.5, 0.04, 0.9)
    assert len(explained(FILMS, Explain(told_, length=2), "Mann")) == 4  # Ali → Smith has less than a twentieth of 0.9
    assert len(explained(FILMS, Explain(told_, length=2, share=0), "Mann")) == 5
    assert len(explained(FILMS, Explain(told_, length=2, share=1), "Mann")) == 3
    # Only what was retrieved is walked.
    assert explained(FILMS, Explain(told_), "Mann", edges=[1]).texts(FILMS) == ["Mann → [by⁻¹] → Ali"]


def test_explain_limits_paths_and_walks() -> None:
    explain = Explain(messages(0.9, 0.5, 0.9, 0.7, 0.1), length=2, paths=2)
    every = explained(FILMS, explain, "Mann")
    assert len(every) == 4
    first = (explain % 3)(start("?", FILMS, entities=["Mann"], evidence=Evidence.of_edges(FILMS.edges))).evidence
    assert first is not None and first.identities() == every.identities()[:3]


def test_explain_starts_at_each_question_entity() -> None:
    result = scored(FILMS, Explain(messages(0.6, 0.6, 0.8, 0.9, 0.2), length=1), "Smith", "Pacino")
    assert result == [
        ("Smith → [stars⁻¹] → Ali", pytest.approx(mean_log(0.9), abs=1e-4)),
        ("Pacino → [stars⁻¹] → Heat", pytest.approx(mean_log(0.8), abs=1e-4)),
    ]
    # One of them may lie where nothing was retrieved.
    only = explained(FILMS, Explain(messages(0.6, 0.6, 0.8, 0.9, 0.2)), "Smith", "1995", edges=[3])
    assert only.texts(FILMS) == ["Smith → [stars⁻¹] → Ali"]


def test_explain_without_entities_or_triples_is_empty() -> None:
    explain = Explain(messages(0.9, 0.9, 0.9, 0.9, 0.9))
    mann = start("?", FILMS, entities=["Mann"])
    for state in (
        mann.with_(anchors=(), evidence=Evidence.of_edges([0])),
        mann.with_(evidence=Evidence.of_edges([])),
        mann.with_(evidence=Evidence.of_nodes([0])),
    ):
        result = explain(state).evidence
        assert result is not None and len(result) == 0


def test_step_probability_is_of_triple_or_end_node() -> None:
    state = start("Who stars in films by Mann?", FILMS, entities=["Mann"])
    mann, heat, pacino = map(FILMS.id, ("Mann", "Heat", "Pacino"))
    walk = np.array([[mann, heat, pacino]]), np.array([[0, 2]])
    triple, entity = untrained("triple"), untrained("entity")
    worth = (triple, Evidence.of_edges([0, 2])), (entity, Evidence.of_nodes([heat, pacino]))
    for retriever, pieces in worth:
        model, whole = retriever.step_model(state, Run()), retriever.prepare(state, Run())(pieces)
        assert model.probabilities(*walk)[0] == pytest.approx(whole) and (model.reach(*walk) <= 1).all()


def test_explain_with_invalid_retriever_raises() -> None:
    with pytest.raises(OptionError, match="it must be a trained retriever, as load_retriever returns"):
        Explain(HashEncoder())  # type: ignore[arg-type]
    for wrong in ({"length": 0}, {"paths": 0}, {"share": 1.5}, {"share": -0.1}):
        with pytest.raises(OptionError, match=f"Explain: {next(iter(wrong))} is .*; it must be"):
            Explain(messages(), **wrong)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="retrieves whole paths and gives no scores of steps"):
        explained(FILMS, Explain(untrained("path")), "Mann")
