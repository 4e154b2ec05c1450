"""Plans of a language model: matched, ignored, and the prompt for them."""

from __future__ import annotations

import json

from tests.toys import same

from graphwright import Graph, State, start
from graphwright.models import ScriptedLLM
from graphwright.operators import Instances, Plan, RelationPaths

FILMS = Graph.from_triples(
    [
        ("Heat", "directed_by", "Mann"),
        ("Ali", "directed_by", "Mann"),
        ("Ali", "starred_actors", "Smith"),
        ("Mann", "wrote", "Heat"),
    ]
)


def planned(*plans: object, k: int | None = None) -> State:
    op = Plan(ScriptedLLM([json.dumps({"plans": list(plans)})]))
    ready = RelationPaths(2)(start("Whom did the director of Heat film?", FILMS, entities=["Heat"]))
    return (op if k is None else op % k)(ready)


def test_plan_matches_relations_in_either_direction() -> None:
    state = planned(["Directed  by", "directed by"], ["wrote"])
    assert state.evidence is not None and state.evidence.scores is not None
    assert state.evidence.texts(FILMS) == ["directed by, directed by of", "wrote of"]
    assert state.evidence.scores.tolist() == [1.0, 0.5] and state.trace[-1].notes == ()
    assert {FILMS.names[n[-1]] for n, _ in Instances()(state).evidence or ()} == {"Ali", "Mann"}


def test_impossible_plan_is_skipped_with_note() -> None:
    state = planned(["directed by"], ["acted in"], ["directed by"], [])
    assert state.evidence is not None and state.evidence.texts(FILMS) == ["directed by"]
    assert state.trace[-1].notes == ("3 of 4 plans were ignored: not in the graph, or repeated",)
    assert len(planned(["acted in"]).evidence or ()) == 0 and len(planned().evidence or ()) == 0


def test_repeated_plan_counts_once() -> None:
    state = planned(["wrote"], ["directed by"], ["wrote"], k=1)
    assert state.evidence is not None and state.evidence.texts(FILMS) == ["wrote of"]
    assert state.evidence.scores is not None and state.evidence.scores.tolist() == [1.0]


def test_plan_prompt_lists_relations_once() -> None:
    prompts: list[str] = []

    def model(system: str, user: str) -> str:
        prompts.extend((system, user))
        return '{"plans": []}'

    ready = RelationPaths(2)(start("Whom did he film?", FILMS, entities=["Heat"]))
    state = (Plan(ScriptedLLM(model), max_relations=1) % 5)(ready)
    assert "at most 5 plans" in prompts[1] and "no more than 2 relations" in prompts[0]
    assert prompts[1].splitlines()[-1] == '"directed by"' and state.trace[-1].notes == (
        "the model read the first 1 of 2 relations",
    )


def test_plan_with_invalid_reply_keeps_paths_with_note() -> None:
    ready = RelationPaths(2)(start("Whom?", FILMS, entities=["Heat"]))
    state = Plan(ScriptedLLM(["no", '{"plans": "directed by"}']))(ready)
    assert same(state.evidence, ready.evidence)
    assert state.trace[-1].notes == (
        "the model's reply did not fit the schema",
        "the step was done without a model",
    )
    cut = (Plan(ScriptedLLM(["no", "no"])) % 1)(ready).evidence
    assert ready.evidence is not None and same(cut, ready.evidence.top(1))
