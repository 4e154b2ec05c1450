"""OracleLLM: the right choice at each prompt, and no other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle_llm import OracleLLM
from tests.shared import corpus_index

from graphwright import start
from graphwright.errors import LLMResponseError
from graphwright.graph.graph import Kind
from graphwright.operators import LinkEntities, Plan, RelationPaths
from graphwright.prompts.replies import REPLIES
from graphwright.prompts.templates import PROMPTS, data_line

GRAPH = corpus_index().snapshot.graph
QUESTION = "Which abbey did the mother of Lothair II found?"
LOTHAIR, ERMENGARDE, TEUTBERGA = (GRAPH.id(f"{name}#0") for name in ("lothair", "ermengarde", "teutberga"))
SON = "Lothair II: He was a son of Lothair I and Ermengarde of Tours."
MARRIED = "Lothair II: He married Teutberga in 855."
FOUNDED = "Ermengarde of Tours: She founded the abbey of Erstein in Alsace."
DESTROYED = "Erstein Abbey: It was destroyed in 1525 during the German Peasants' War."
CHOICES = {
    *("answer", "bubblerag_constraints", "bubblerag_groups", "bubblerag_grow", "bubblerag_keywords", "bubblerag_relax"),
    *("chain_of_thought", "choose", "choose_again", "helpful", "pathrag_keywords", "plan"),
    "vanilla",
}
VALUES = {
    *("answers", "candidates", "entities", "entries", "facts", "found", "keywords", "length", "most", "passage"),
    *("instruction", "passages", "paths", "question", "relations", "selected", "summaries", "thoughts"),
}


def oracle(gold: Sequence[int] = (LOTHAIR, ERMENGARDE), question: str = QUESTION) -> OracleLLM:
    return OracleLLM(GRAPH, gold, question)


def asked(prompt: str, model: OracleLLM | None = None, **values: str) -> Any:
    """The reply to a prompt with some values; the others are empty."""
    filled = dict.fromkeys(VALUES, "") | {"most": "4", "question": data_line({"question": QUESTION})} | values
    return (model or oracle()).complete(*PROMPTS.messages(prompt, **filled), schema=REPLIES[prompt]).value


def lines(rows: Iterable[Any]) -> str:
    return "\n".join(map(data_line, rows))


def numbered(texts: Iterable[str]) -> str:
    return lines({"number": number, "text": text} for number, text in enumerate(texts, 1))


def test_keywords_are_names_of_the_question_and_implied_names_of_gold_passages() -> None:
    latent, flat = asked("bubblerag_keywords"), asked("pathrag_keywords")
    # "Lothair I", which a gold passage has too, is no word of the question.
    assert latent.names == ["Lothair II"] and latent.implied == ["Ermengarde of Tours", "Ermengarde", "Tours"]
    assert flat.names == [*latent.names, *latent.implied] and flat.themes == latent.relations == [QUESTION]


def test_implied_names_are_topics_then_the_rarest_that_join_gold_passages() -> None:
    assert oracle([ERMENGARDE, LOTHAIR], "Who?").gold_graph.joining == [
        *("Ermengarde of Tours", "Lothair II"),  # topics
        *("Ermengarde", "Tours"),  # in both, and in no other passage
    ]
    # "Lotharingia", "Lothair II" and "Teutberga" stand in both; 855 is a number, and in one alone.
    assert oracle([LOTHAIR, TEUTBERGA], "Who?").gold_graph.joining == ["Lothair II", "Teutberga", "Lotharingia"]
    assert oracle([LOTHAIR], "Who?").implied == ["Lothair II"]


def test_keywords_leave_out_names_of_other_passages_and_names_within_another() -> None:
    question = "Did Ermengarde of Tours cross the Mur?"
    assert oracle([ERMENGARDE], question).named == ["Ermengarde of Tours"]
    assert oracle([], question).named == [] == oracle([], question).implied


@pytest.mark.parametrize(
    ("texts", "most", "numbers"),
    [
        ([DESTROYED, SON, FOUNDED], 4, [2, 3]),
        ([DESTROYED], 4, []),
        ([SON, MARRIED, FOUNDED], 2, [1, 3]),  # first those that add a passage
        ([SON, MARRIED, FOUNDED], 4, [1, 3, 2]),
        ([f"{SON}; {DESTROYED}", f"{SON}; {FOUNDED}"], 4, [2]),  # a path with a wrong statement is wrong
        ([SON.lower(), SON[:-1], f"{SON} {FOUNDED}", ""], 4, []),
        (["Ermengarde of Tours founded the abbey of", "Erstein Abbey was destroyed in"], 4, [1]),
        ([f"{SON}; Ermengarde of Tours founded the abbey of"], 4, [1]),
        (["Ermengarde of Tours founded the abbey of; " + SON], 4, []),  # only the last part may lack its end
        (["founded the abbey of", "co occurs with, founded the abbey of"], 4, [2]),  # relations from Lothair II
    ],
)
def test_choice_is_what_gold_passages_state(texts: list[str], most: int, numbers: list[int]) -> None:
    assert asked("choose", candidates=numbered(texts), most=str(most)).numbers == numbers
    assert asked("bubblerag_grow", candidates=numbered(texts), most=str(most)).numbers == numbers


def test_choice_after_others_adds_missing_passages_first() -> None:
    candidates = numbered([MARRIED, FOUNDED])
    again = asked("choose_again", selected=lines([{"text": SON}]), candidates=candidates, most="1")
    grown = asked("bubblerag_grow", found=lines([{"found": SON}]), candidates=candidates, most="1")
    assert again.numbers == grown.numbers == [2] and grown.enough


def test_growth_is_enough_once_each_gold_passage_has_a_statement() -> None:
    assert not asked("bubblerag_grow", candidates=numbered([SON, MARRIED])).enough
    assert asked("bubblerag_grow", candidates=numbered([SON, FOUNDED])).enough
    assert not asked("bubblerag_grow", oracle([]), candidates=numbered([SON])).enough


def test_statement_with_semicolons_is_one_part_of_a_path() -> None:
    model = oracle()
    model.gold_graph.__dict__["statements"] = {"He reigned; he died": frozenset({LOTHAIR}), SON: frozenset({LOTHAIR})}
    texts = [f"He reigned; he died; {SON}", f"{SON}; He reigned; he died", "He reigned", f"He reigned; {SON}"]
    assert asked("choose", model, candidates=numbered(texts)).numbers == [1, 2]


def test_matches_and_groups_have_right_names_and_statements_alone() -> None:
    rows = [("name", "Ermengarde of Tours"), ("name", "Graz"), ("statement", FOUNDED), ("statement", DESTROYED)]
    entries = lines({"entry": number, kind: text} for number, (kind, text) in enumerate(rows, 1))
    keywords = lines([{"keyword": 2, "text": "mother"}, {"keyword": 3, "text": "found"}])
    matches = asked("bubblerag_relax", entries=entries, keywords=keywords).matches
    assert [(match.keyword, match.entries) for match in matches] == [(2, [1, 3]), (3, [1, 3])]
    found_for = [["mother"], ["mother", "abbey"], ["abbey"], ["abbey"]]
    candidates = lines(
        {"candidate": number, "for": keywords, kind: text}
        for number, (keywords, (kind, text)) in enumerate(zip(found_for, rows, strict=True), 1)
    )
    groups = asked("bubblerag_groups", candidates=candidates).groups
    assert [(g.intent, g.numbers, g.weight) for g in groups] == [("mother", [1], 0.5), ("abbey", [3], 0.5)]
    assert asked("bubblerag_groups", candidates=lines([{"candidate": 1, "for": ["x"], "name": "Graz"}])).groups == []


def test_candidates_that_prompts_cut_are_known() -> None:
    model = oracle()
    long = "Lothair II " + "reigned over Lotharingia and " * 20 + "died."
    edges = {edge: frozenset({LOTHAIR}) for edge in GRAPH.edges.tolist()[53:54]}
    model.gold_graph.__dict__["edges"] = edges
    assert set(model.gold_graph.statements) == {GRAPH.edge_text(53)} and len(long) > 200
    entries = lines([{"entry": 1, "statement": long[:200]}, {"entry": 2, "statement": long}])
    keywords = lines([{"keyword": 1, "text": "reign"}])
    assert asked("bubblerag_relax", model, entries=entries, keywords=keywords).matches == []


def test_plans_lead_along_statements_of_gold_passages() -> None:
    state = (LinkEntities() >> RelationPaths(2) >> Plan(oracle()) % 3)(start(QUESTION, GRAPH))
    assert state.evidence is not None and 0 < len(state.evidence) <= 3
    edges = state.evidence.edges
    assert {LOTHAIR, ERMENGARDE} <= set(GRAPH.chunks_of((), edges).tolist())
    listed = lines(["was a son of", "co occurs with", "founded the abbey of", "married"])
    plans = asked("plan", relations=listed, most="99").plans
    assert ["co occurs with", "founded the abbey of"] in plans and ["was a son of", "co occurs with"] in plans
    assert ["married"] in plans and ["founded the abbey of"] not in plans  # not from Lothair II
    assert {relation for plan in plans for relation in plan} <= set(listed.replace('"', "").splitlines())
    assert asked("plan", relations=lines(["rises in"])).plans == []


def test_summaries_are_rated_by_their_gold_statements() -> None:
    summaries = numbered([f"{SON} {FOUNDED}", f"{DESTROYED} {MARRIED}", DESTROYED])
    ratings = asked("helpful", summaries=summaries).ratings
    assert [(rating.number, rating.helpful) for rating in ratings] == [(1, 100), (2, 50), (3, 0)]


def test_answers_are_never_given_and_constraints_are_empty() -> None:
    assert not any(asked(prompt).found for prompt in ("answer", "vanilla", "chain_of_thought"))
    assert asked("bubblerag_constraints").constraints == []


@pytest.mark.parametrize("prompt", sorted(set(REPLIES) - CHOICES))
def test_steps_without_a_choice_get_no_usable_reply(prompt: str) -> None:
    with pytest.raises(LLMResponseError):
        oracle().complete("", numbered([SON]), schema=REPLIES[prompt])


def test_replies_are_recorded() -> None:
    model = oracle()
    asked("choose", model, candidates=numbered([SON]))
    assert model.calls == [("ChoiceReply", '{"numbers": [1]}')]


@given(st.lists(st.sampled_from(range(6)), max_size=3, unique=True), st.lists(st.integers(34, 79), max_size=8))
def test_chosen_statements_and_names_are_always_of_gold_passages(gold: list[int], edges: list[int]) -> None:
    model = oracle(gold)
    texts = [GRAPH.edge_text(edge) for edge in edges]
    for number in asked("choose", model, candidates=numbered(texts), most="99").numbers:
        same = [edge for edge in GRAPH.edges.tolist() if GRAPH.edge_text(edge) == texts[number - 1]]
        assert set(gold) & set(GRAPH.chunks_of((), same).tolist())
    names = [GRAPH.names[node] for node in GRAPH.ends(edges).tolist()]
    candidates = lines({"candidate": n, "for": ["x"], "name": name} for n, name in enumerate(names, 1))
    for group in asked("bubblerag_groups", model, candidates=candidates).groups:
        for number in group.numbers:
            assert set(gold) & set(GRAPH.chunks_of(GRAPH.ids(names[number - 1])).tolist())
    entities = {GRAPH.names[node] for node in range(len(GRAPH)) if GRAPH.columns.kinds[node] != Kind.CHUNK}
    assert {*model.named, *model.implied} <= entities
