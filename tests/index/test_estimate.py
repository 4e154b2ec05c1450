"""The estimate of an extraction: the prompts that are really sent, counted before they are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.errors import OptionError
from graphwright.index.extraction import Excerpt, Extraction
from graphwright.index.generative import Estimate, GenerativeExtractor, estimate, extraction_prompt, gleaning_prompt
from graphwright.models.budget import Prices, estimated_tokens
from graphwright.models.fake import ScriptedLLM
from graphwright.prompts.templates import messages

EMPTY = '{"entities": [], "relations": []}'
SOME = [
    Excerpt("graz", "Graz", "Graz lies on the Mur, in Styria."),
    Excerpt("mur", "", 'The Mur is "long"\n<and> wide.'),
    Excerpt("tokyo", "東京", "東京は日本の首都である。"),
]


def count_words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize("gleanings", [0, 1, 2])
@pytest.mark.parametrize("count", [estimated_tokens, len, count_words])
def test_it_counts_the_very_prompts_that_are_sent(gleanings: int, count: Callable[[str], int]) -> None:
    sent: list[str] = []

    def answer(system: str, user: str) -> str:
        sent.extend((system, user))
        return EMPTY

    untitled = [excerpt._replace(title="") for excerpt in SOME]  # as a title would be shown to a gleaning
    GenerativeExtractor(ScriptedLLM(answer), gleanings=gleanings).extract(untitled)
    made = estimate(iter(untitled), gleanings=gleanings, count_tokens=count, reply_ratio=0)
    assert made == Estimate(3, len(sent) // 2, sum(map(count, sent)), 0)


def test_replies_and_cost_follow_the_ratio_and_the_prices() -> None:
    rules, passage = extraction_prompt(SOME[0])
    more, again = gleaning_prompt(SOME[0], Extraction())
    one = estimate(SOME[:1], count_tokens=len, reply_ratio=2.0, prices=Prices(1000, 5000))
    assert one.completion_tokens == 2 * len(SOME[0].text) == 64
    assert one.prompt_tokens == len(rules) + len(passage)
    assert one.cost == pytest.approx(one.prompt_tokens / 1000 + 64 * 5 / 1000)
    two = estimate(SOME[:1], count_tokens=len, reply_ratio=2.0, gleanings=1)
    assert two.prompt_tokens == one.prompt_tokens + len(more) + len(again) + 64
    assert (two.calls, two.completion_tokens, two.cost) == (2, 128, None)


def test_the_share_of_the_reply_is_that_of_the_example_in_the_prompt() -> None:
    system, _ = messages("extract", passage="")
    example = json.loads(system[system.index("\n{") :])
    sentence = 20  # tokens
    tokens = sum(estimated_tokens(json.dumps(example[part][0])) for part in ("entities", "relations"))
    made = estimate([Excerpt("d", "", "word " * 16)])
    assert estimated_tokens("word " * 16) == sentence
    assert made.completion_tokens == pytest.approx(tokens, rel=0.15)


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=30)), max_size=5), st.integers(0, 2))
def test_parts_add_up_and_a_gleaning_costs_more_than_twice(texts: list[tuple[str, str]], gleanings: int) -> None:
    excerpts = [Excerpt("d", title, text) for title, text in texts]
    prices = Prices(1, 2)
    whole = estimate(excerpts, gleanings=gleanings, prices=prices)
    parts = [estimate([excerpt], gleanings=gleanings, prices=prices) for excerpt in excerpts]
    assert whole.prompt_tokens == sum(p.prompt_tokens for p in parts)
    assert whole.completion_tokens == sum(p.completion_tokens for p in parts)
    assert whole.cost == pytest.approx(sum(p.cost or 0 for p in parts))
    once, twice = estimate(excerpts), estimate(excerpts, gleanings=1)
    assert twice.calls == 2 * once.calls and twice.completion_tokens == 2 * once.completion_tokens
    assert twice.prompt_tokens >= 2 * once.prompt_tokens


def test_nothing_costs_nothing_and_a_negative_share_is_refused() -> None:
    assert estimate([], prices=Prices(1, 1)) == Estimate(0, 0, 0, 0, 0.0)
    with pytest.raises(OptionError, match="reply_ratio is -1"):
        estimate([], reply_ratio=-1)
    with pytest.raises(OptionError, match="reply_ratio is nan"):
        estimate([], reply_ratio=float("nan"))


def test_it_prints_one_figure_per_line() -> None:
    lines = str(estimate(SOME)).splitlines()
    assert [line.split(":")[0] for line in lines] == ["chunks", "calls", "prompt tokens", "completion tokens", "cost"]
    assert lines[-1] == "cost: unknown without prices"
    assert re.fullmatch(r"cost: about \d+\.\d\d", str(estimate(SOME, prices=Prices(100, 100))).splitlines()[-1])
