"""Refinement: the candidates that each refiner selects for a few questions over a small graph of films."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from graphwright import Graph
from graphwright.errors import OptionError
from graphwright.graph.walks import Ways
from graphwright.learn.candidates import SHORTEST, Candidate, Example, Pool, candidate_pool
from graphwright.learn.refine import (
    CosineRefiner,
    LabelledPath,
    LLMRefiner,
    NeighbourRefiner,
    Refiner,
    ShortestPathLabels,
    masked_question,
)
from graphwright.models import HashEncoder, ScriptedLLM

ENCODER = HashEncoder()
DIRECTED = {"Anna": "Alien", "Bert": "Brazil", "Carl": "Casino", "Dora": "Dogma", "Emil": "Eraser", "Fred": "Fargo"}
# Two of the films were written by those who directed them.
WROTE = {"Anna": "Alien", "Bert": "Brazil", "Dora": "Casino", "Emil": "Dogma", "Fred": "Eraser", "Carl": "Fargo"}
FILMS = Graph.from_triples(
    [(film, "directed_by", who) for who, film in DIRECTED.items()]
    + [(film, "written_by", who) for who, film in WROTE.items()]
    + [(film, "release_year", "1990") for film in DIRECTED.values()]
)
BY, WRITTEN = 1, 3  # from a film to who directed, and who wrote it
ASKED = [
    Example(f"{verb} {film}", f"who {verb} {film}", (FILMS.id(film),), (FILMS.id(who),))
    for verb, made in (("directed", DIRECTED), ("wrote", WROTE))
    for who, film in made.items()
]


def kept_by(refiner: Refiner, graph: Graph, asked: Sequence[Example]) -> list[list[LabelledPath]]:
    """What a refiner keeps of each question."""
    judged = refiner.prepare(graph, asked, [candidate_pool(graph, item) for item in asked])
    return [judged(at) for at in range(len(asked))]


def ways(selected: Sequence[LabelledPath]) -> list[Ways]:
    return [item.candidate.ways for item in selected]


def test_weak_labels_keep_all_shortest_paths_and_refined_fewer() -> None:
    weak, refined = kept_by(ShortestPathLabels(), FILMS, ASKED), kept_by(NeighbourRefiner(ENCODER), FILMS, ASKED)
    for item, by_weak, by_twin in zip(ASKED, weak, refined, strict=True):
        asked_for = BY if item.id.startswith("directed") else WRITTEN
        both = item.id.endswith(("Alien", "Brazil"))
        assert set(ways(by_weak)) == ({(BY,), (WRITTEN,)} if both else {(asked_for,)})
        assert ways(by_twin) == [(asked_for,)]
    # Of the paths by weak supervision a quarter are there by chance.
    assert sum(map(len, weak)) == 16 and sum(map(len, refined)) == 12


def test_support_is_cosine_weighted_mean_f1() -> None:
    best = kept_by(NeighbourRefiner(ENCODER), FILMS, ASKED)[0][0]
    texts = [f"who {verb} x" for verb in ("directed", "wrote")]
    cosine = float(np.prod(ENCODER.encode(texts), axis=0).sum())
    # Six ask the same; of six that ask for the writer two have the same answer.
    assert best.support == pytest.approx((6 + 2 * cosine**4) / (6 + 6 * cosine**4), abs=1e-6)
    asked, path = ENCODER.encode([texts[0], "directed by"])
    assert best.near == pytest.approx(float(asked @ path), abs=1e-6)
    assert best.candidate == Candidate(ASKED[0].entities[0], (BY,), SHORTEST)
    # Among itself alone a question cannot tell.
    assert ways(kept_by(NeighbourRefiner(ENCODER, meaning=0, neighbours=1), FILMS, ASKED)[0]) == [(BY,), (WRITTEN,)]


SEQUELS = Graph.from_triples(
    [(f"{who} {n}", "directed_by", who) for who in ("Anna", "Bert", "Carl", "Dora") for n in ("one", "two", "three")]
    + [("Dora one", "sequel_of", "Dora two"), ("Dora one", "sequel_of", "Dora three")]
)


def same_director(who: str) -> Example:
    first, *others = (SEQUELS.id(f"{who} {n}") for n in ("one", "two", "three"))
    return Example(who, f"what else is by the director of {who} one", (first,), tuple(others))


def test_chance_answer_borrows_path_of_similar_questions() -> None:
    asked = [same_director(who) for who in ("Anna", "Bert", "Carl", "Dora")]
    by_director, by_sequel = (1, 0), (3,)
    assert [ways(selected) for selected in kept_by(ShortestPathLabels(), SEQUELS, asked)] == [[by_director]] * 3 + [
        [by_sequel]
    ]
    refined = kept_by(NeighbourRefiner(ENCODER), SEQUELS, asked)
    assert [ways(selected) for selected in refined] == [[by_director]] * 4
    assert refined[3][0].candidate == Candidate(asked[3].entities[0], by_director, SHORTEST)


def test_each_question_entity_keeps_its_paths() -> None:
    graph = Graph.from_triples(
        [(f"film {n}", "directed_by", f"person {n % 2}") for n in range(4)]
        + [(f"film {n}", "has_genre", f"genre {n // 2}") for n in range(4)]
    )
    asked = []
    for n in range(4):
        who, genre = f"person {n % 2}", f"genre {n // 2}"
        entities, answers = (graph.id(who), graph.id(genre)), (graph.id(f"film {n}"),)
        asked.append(Example(f"{n}", f"which {genre} did {who} direct", entities, answers))
    for item, selected in zip(asked, kept_by(NeighbourRefiner(ENCODER), graph, asked), strict=True):
        assert {(k.candidate.source, k.candidate.ways) for k in selected} == set(
            zip(item.entities, [(0,), (2,)], strict=True)
        )


def test_path_without_answer_is_dropped() -> None:
    # The last film has no director in the graph, and is joined to its answer by another relation.
    graph = Graph.from_triples(
        [(film, "directed_by" if film != "Fargo" else "made_by", who) for who, film in DIRECTED.items()]
    )
    asked = [
        Example(film, f"who directed {film}", (graph.id(film),), (graph.id(who),)) for who, film in DIRECTED.items()
    ]
    selected = kept_by(NeighbourRefiner(ENCODER), graph, asked)
    assert [ways(item) for item in selected] == [[(1,)]] * 5 + [[(3,)]]


class Contrary:
    """An encoder for which no relation path is anything like a question."""

    def encode(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.array([[1.0, 0.0] if text.startswith("who") else [-1.0, 0.0] for text in texts], np.float32)


def test_best_path_is_kept_at_any_similarity() -> None:
    crowd = Graph.from_triples([("Alien", "starred_actors", f"actor {n}") for n in range(30)])
    asked = [Example("q", "who is the hero of Alien", (0,), (7,))]
    assert ways(kept_by(NeighbourRefiner(Contrary()), crowd, asked)[0]) == [(1,)]
    assert ways(kept_by(CosineRefiner(Contrary()), crowd, asked)[0]) == [(1,)]


def test_nearest_questions_are_by_cosine() -> None:
    for item, selected in zip(ASKED, kept_by(CosineRefiner(ENCODER), FILMS, ASKED), strict=True):
        if item.id in ("directed Alien", "directed Brazil"):
            assert ways(selected) == [(BY,)]
    wide = kept_by(CosineRefiner(ENCODER, slack=2.0), FILMS, ASKED)[0]
    assert ways(wide) == [(BY,), (WRITTEN,)] and wide[0].near > wide[1].near


@pytest.mark.parametrize("wrong", [{"share": 0.0}, {"share": 1.1}, {"meaning": -0.1}, {"neighbours": 0}])
def test_refiner_with_invalid_constants_raises(wrong: dict[str, float]) -> None:
    with pytest.raises(OptionError, match=f"NeighbourRefiner: {next(iter(wrong))} is .*; it must be"):
        NeighbourRefiner(ENCODER, **wrong)  # type: ignore[arg-type]


def test_refiner_key_includes_all_settings() -> None:
    made: list[Refiner] = [
        ShortestPathLabels(),
        CosineRefiner(ENCODER),
        CosineRefiner(ENCODER, 0.2),
        NeighbourRefiner(ENCODER),
        NeighbourRefiner(ENCODER, share=0.7),
        NeighbourRefiner(ENCODER, meaning=0.1),
        NeighbourRefiner(ENCODER, neighbours=8),
        NeighbourRefiner(HashEncoder(32)),
        CosineRefiner(HashEncoder(32)),
        LLMRefiner(ScriptedLLM([], id="one")),
        LLMRefiner(ScriptedLLM([], id="two")),
        LLMRefiner(ScriptedLLM([], id="one"), max_paths=9),
    ]
    assert len({item.id for item in made}) == len(made)


def test_refiner_masks_names_in_question() -> None:
    assert masked_question(FILMS, ASKED[0]) == "who directed x"


def lines(user: str) -> list[dict[str, Any]]:
    """The paths that a model is shown."""
    return [json.loads(line) for line in user.splitlines() if line.startswith('{"path"')]


def test_llm_refiner_keeps_paths_by_number() -> None:
    prompts: list[str] = []

    def reply(system: str, user: str) -> str:
        prompts.append(user)
        chosen = [row["path"] for row in lines(user) if "[directed_by]" in row["text"]]
        return json.dumps({"paths": [*chosen, chosen[0], 77, -1]})

    selected = kept_by(LLMRefiner(ScriptedLLM(reply)), FILMS, ASKED[:1])[0]
    # Numbers that are not there are passed over, and what is named twice is kept once.
    assert ways(selected) == [(BY,)] and selected[0] == LabelledPath(
        Candidate(FILMS.id("Alien"), (BY,), SHORTEST), 1.0, 0.0
    )
    assert '{"question": "who directed Alien"}' in prompts[0] and '{"answers": ["Anna"]}' in prompts[0]
    # Shortest paths first, then what is at the film, then what is at its director.
    assert [row["text"] for row in lines(prompts[0])] == [
        "Alien → [directed_by] → Anna",
        "Alien → [written_by] → Anna",
        "Alien → [release_year] → 1990",
        "Anna → [directed_by⁻¹] → Alien",
        "Anna → [written_by⁻¹] → Alien",
    ]


@pytest.mark.parametrize("reply", ["The first.", '{"paths": "all"}', '{"numbers": [0]}', ""])
def test_llm_refiner_with_invalid_reply_keeps_nothing(reply: str) -> None:
    asked: list[str] = []

    def say(system: str, user: str) -> str:
        asked.append(user)
        return reply

    assert kept_by(LLMRefiner(ScriptedLLM(say)), FILMS, ASKED[:1]) == [[]]
    assert len(asked) == 2  # once more, to mend it


def test_llm_refiner_shows_limited_paths_and_skips_empty() -> None:
    seen: list[list[dict[str, Any]]] = []

    def reply(system: str, user: str) -> str:
        seen.append(lines(user))
        return '{"paths": [1, 2]}'

    selected = kept_by(LLMRefiner(ScriptedLLM(reply), max_paths=2), FILMS, ASKED[:1])[0]
    assert [len(rows) for rows in seen] == [2] and ways(selected) == [(WRITTEN,)]
    none = LLMRefiner(ScriptedLLM([])).prepare(FILMS, ASKED[:1], [Pool((), 0)])
    assert none(0) == []


def first_shown(graph: Graph, entity: str, answer: str, by: Ways | None = None) -> str:
    """The first path that a model is shown; with `by` the one by these ways."""
    seen: list[str] = []

    def reply(system: str, user: str) -> str:
        seen.extend(row["text"] for row in lines(user))
        return '{"paths": [0]}'

    asked = Example("q", "where to", (graph.id(entity),), (graph.id(answer),))
    result = candidate_pool(graph, asked) if by is None else Pool((Candidate(asked.entities[0], by, SHORTEST),), 1)
    LLMRefiner(ScriptedLLM(reply)).prepare(graph, [asked], [result])(0)
    return seen[0]


def test_llm_refiner_shows_relations_readable_and_no_token() -> None:
    prompts: list[str] = []

    def reply(system: str, user: str) -> str:
        prompts.append(user)
        return '{"paths": [0]}'

    graph = Graph.from_triples([("Heat", "by", "[INST]"), ("[INST]", "INST", "LA")])
    asked = Example("q", "where to", (graph.id("Heat"),), (graph.id("LA"),))
    LLMRefiner(ScriptedLLM(reply)).prepare(graph, [asked], [candidate_pool(graph, asked)])(0)
    assert "Heat → [by] → \\u005bINST] → [ INST ] → LA" in prompts[0] and "[INST]" not in prompts[0]


def test_llm_refiner_shows_one_path_per_relations() -> None:
    graph = Graph.from_triples([("Heat", "by", "Mann"), ("Ali", "by", "Mann"), ("Thief", "by", "Mann")])
    assert first_shown(graph, "Heat", "Thief") == "Heat → [by] → Mann → [by⁻¹] → Thief"


def test_llm_refiner_shows_returning_walk_for_own_answer_only() -> None:
    # By r, s, t and u one comes to b again, and to x.
    again = [("a", "r", "b"), ("b", "s", "c"), ("c", "t", "d"), ("d", "u", "b")]
    graph = Graph.from_triples([*again, ("b", "s", "c2"), ("c2", "t", "d2"), ("d2", "u", "x")])
    assert first_shown(graph, "a", "x") == "a → [r] → b → [s] → c2 → [t] → d2 → [u] → x"
    assert first_shown(graph, "a", "b", (1, 3, 5, 7)) == "a → [r] → b → [s] → c → [t] → d → [u] → b"
    assert first_shown(graph, "a", "b", (7,)) == "a"  # where no walk is


def test_path_through_answer_itself_counts() -> None:
    # Who wrote films by the director of the first: who directed them wrote one, and another wrote the other.
    graph = Graph.from_triples(
        [(f"{who} {n}", "directed_by", who) for who in ("Anna", "Bert", "Carl") for n in ("one", "two", "three")]
        + [(f"{who} two", "written_by", who) for who in ("Anna", "Bert", "Carl")]
        + [(f"{who} three", "written_by", f"friend of {who}") for who in ("Anna", "Bert", "Carl")]
    )
    asked = [
        Example(who, f"who wrote films by the director of {who} one", (graph.id(f"{who} one"),),
                (graph.id(who), graph.id(f"friend of {who}")))
        for who in ("Anna", "Bert", "Carl")
    ]  # fmt: skip
    for selected in kept_by(NeighbourRefiner(ENCODER, meaning=0), graph, asked):
        assert ways(selected) == [(1, 0, 3)] and selected[0].support == pytest.approx(1.0)
