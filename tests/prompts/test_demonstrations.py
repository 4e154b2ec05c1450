"""The demonstrations of the prompts that ask for an answer: they do what the prompts ask for."""

from __future__ import annotations

import json
import re
from functools import partial
from itertools import takewhile

import pytest

from graphwright.generate.citations import locate, supported
from graphwright.prompts.replies import PlainAnswer, WrittenAnswer
from graphwright.prompts.templates import PROMPTS

QUOTED = ("answer", "bubblerag", "bubblerag_enough", "chains", "pathrag", "pathrag_flat", "reports")
PLAIN = ("vanilla", "chain_of_thought")
PLACES = dict.fromkeys(("question", "passages", "lines", "evidence", "instruction"), "")


def demonstrations(name: str) -> list[tuple[str, str]]:
    """The lines of each demonstration and its reply."""
    text = "\n".join(PROMPTS.messages(name, **PLACES))
    parts = re.split(r'^  (?=\{"question")', text, flags=re.MULTILINE)[1:]
    pairs = (part.partition("\nReply:\n") for part in parts)
    indented = partial(takewhile, lambda line: line.startswith("  "))
    return [(lines, "\n".join(indented(reply.splitlines()))) for lines, _, reply in pairs]


@pytest.mark.parametrize("name", QUOTED)
def test_answer_demonstrations_show_two_hops_and_abstention(name: str) -> None:
    (lines, reply), (_, nothing) = demonstrations(name)
    passages = [json.loads(line) for line in lines.splitlines() if line.startswith('  {"passage"')]
    texts = {passage["passage"]: passage["text"] for passage in passages}
    answer = WrittenAnswer.model_validate_json(reply)
    places = [locate(quote.quote, quote.passage, texts) for quote in answer.citations]
    assert answer.found and answer.answers and len({place.passage for place in places if place}) == 2 and all(places)
    assert supported(answer.text, [1, 2])[1] == () and answer.answers[0] in answer.text
    abstention = WrittenAnswer.model_validate_json(nothing)
    assert not abstention.found and abstention.reasoning
    assert (abstention.text, abstention.answers, abstention.citations) == ("", [], [])


@pytest.mark.parametrize("name", PLAIN)
def test_unaided_demonstration_has_same_form(name: str) -> None:
    answer, nothing = (PlainAnswer.model_validate_json(reply) for _, reply in demonstrations(name))
    assert answer.found and answer.answers[0] in answer.text and bool(answer.reasoning) == (name == "chain_of_thought")
    assert not nothing.found and (nothing.text, nothing.answers) == ("", [])


@pytest.mark.parametrize("name", QUOTED)
def test_demonstration_lines_differ_from_task_lines(name: str) -> None:
    assert not any(line.startswith(("{", "Chain")) for line in "\n".join(PROMPTS.messages(name, **PLACES)).splitlines())
