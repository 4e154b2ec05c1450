"""Streamed answers: each character is sent once, and never one that the final answer lacks."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.generate.answer import Draft


def streamed(pieces: list[str], final: str | None = None) -> list[str]:
    heard: list[str] = []
    draft = Draft(heard.append)
    for piece in pieces:
        draft.feed(piece)
        assert all(heard)
    if final is not None:
        draft.finish(final)
    return heard


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({0, len(text), *(min(p, len(text)) for p in places)})
    return [text[a:b] for a, b in pairwise(ends)]


answers = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n\t/😀é[]{}'), max_size=30)


@given(answers, st.booleans(), st.sampled_from([None, 1]), st.lists(st.integers(0, 200)))
def test_draft_pieces_join_to_answer_for_any_split(
    answer: str, ascii_only: bool, indent: int | None, places: list[int]
) -> None:
    reply = json.dumps(
        {"found": True, "text": answer, "citations": [{"passage": 1, "quote": "answer"}]},
        ensure_ascii=ascii_only,
        indent=indent,
    )
    pieces = cut(reply, places)
    assert "".join(streamed(pieces)) == answer
    # At every moment what was heard is the beginning of the answer.
    for some in range(len(pieces)):
        assert answer.startswith("".join(streamed(pieces[:some])))


def test_draft_passes_text_on_at_once() -> None:
    assert streamed(['{"found":true,"text":"In ', "Gr", 'az."', ',"citations":[]}']) == ["In ", "Gr", "az."]


@pytest.mark.parametrize(
    "reply",
    [
        '{"found": false, "text": "I could not find it."',
        "The answer is Graz.",
        "In {Graz}, I think.",
        '<think>I say {"text": "Lyon"}, or',
        '{"text": 7',
        "[1, 2",
        '"text"',
        "",
        '{"text": "a lone \\ud83d surrogate"}',
        '{"reply": "Graz"}',
    ],
)
def test_draft_without_answer_passes_nothing_on(reply: str) -> None:
    assert "".join(streamed(list(reply))) in ("", "a lone ")
    assert streamed([reply], "Graz.") == ["Graz."]


@pytest.mark.parametrize(
    "reply",
    [
        '```json\n{"text": "Graz"}\n```',
        '<think>\n{"text": "Lyon"}?</think>{"text": "Graz"}',
        'So: {"text": "Graz"',
    ],
)
def test_draft_ignores_text_around_json_object(reply: str) -> None:
    assert "".join(streamed(list(reply))) == "Graz"


def test_draft_joins_surrogate_pair() -> None:
    assert streamed(['{"text": "a ', "\ud83d", "\ude00", ' b"}']) == ["a ", "😀", " b"]
    assert "".join(streamed(['{"text": "a ', "\ud83d", ' b"}'], "a ? b")).startswith("a ")


def test_draft_second_reply_extends_equal_beginning_only() -> None:
    heard: list[str] = []
    draft = Draft(heard.append)
    draft.feed('{"text": "In Graz"}')
    draft.feed('{"text": "In Graz, on')
    draft.feed(' the Mur.", "citations": []}')
    draft.finish("In Graz, on the Mur.")
    assert heard == ["In Graz", ", on the Mur."]
    draft.finish("In Lyon, but not on the Mur.")
    assert heard == ["In Graz", ", on the Mur."]


def test_draft_without_listener_reads_nothing() -> None:
    draft = Draft(None)
    assert draft.listener is None and Draft(print).listener is not None
    draft.finish("Graz.")
