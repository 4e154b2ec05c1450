"""Estimates of extraction: they count the prompts that are sent, and agree with the measured length of replies."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.cli.indexing_output import estimate_table
from graphwright.errors import OptionError
from graphwright.extract.estimate import Estimate, estimate
from graphwright.extract.extraction import Excerpt
from graphwright.extract.llm import KINDS, GenerativeExtractor
from graphwright.models.budget import Prices, Rate, estimated_tokens
from graphwright.models.fake import ScriptedLLM

EMPTY = {"full": '{"entities": [], "relations": []}', "triples": '{"triples": []}'}
MEASURED = Path(__file__).parents[2] / "benchmarks" / "results" / "extraction.json"
SOME = [
    Excerpt("graz", "Graz", "Graz lies on the Mur, in Styria."),
    Excerpt("mur", "", 'The Mur is "long"\n<and> wide.'),
    Excerpt("tokyo", "東京", "東京は日本の首都である。"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gleanings", [0, 1, 2])
def test_estimate_counts_sent_prompts(gleanings: int, kind: str) -> None:
    sent: list[str] = []

    def answer(system: str, user: str) -> str:
        sent.extend((system, user))
        return EMPTY[kind]

    untitled = [excerpt._replace(title="") for excerpt in SOME]  # a title would be shown to a gleaning
    GenerativeExtractor(ScriptedLLM(answer), extraction=kind, gleanings=gleanings).extract(untitled)
    made = estimate(iter(untitled), extraction=kind, gleanings=gleanings)
    replies = sum(math.ceil(KINDS[kind].reply_ratio * estimated_tokens(excerpt.text)) for excerpt in untitled)
    earlier = replies * gleanings * (gleanings + 1) // 2  # in the prompts of gleanings
    prompts = sum(map(estimated_tokens, sent)) + earlier
    assert made == Estimate(3, len(sent) // 2, prompts, (1 + gleanings) * replies)


def test_estimate_uses_measured_reply_length() -> None:
    rows = [row for row in json.loads(MEASURED.read_text())["results"] if row["counted by"] == "four characters"]
    ratios = {row["extraction"]: row["replies"] / row["text"] for row in rows}
    assert ratios == {name: pytest.approx(kind.reply_ratio, rel=0.02) for name, kind in KINDS.items()}


def test_estimate_of_triples_is_third_of_tokens() -> None:
    chunks = [Excerpt("d", "Title", "Anna met Bert in Graz. " * 25)]
    full, triples = (estimate(chunks, extraction=kind) for kind in ("full", "triples"))
    share = (triples.prompt_tokens + triples.completion_tokens) / (full.prompt_tokens + full.completion_tokens)
    assert 0.25 < share < 0.4 and triples.calls == full.calls == 1


def test_estimate_cost_and_hours_follow_prices_and_rates() -> None:
    made = estimate(SOME[:1], prices=Prices(1000, 5000), rate=Rate(100, 10))
    assert made.cost == pytest.approx(made.prompt_tokens / 1000 + made.completion_tokens * 5 / 1000)
    assert made.hours == pytest.approx((made.prompt_tokens / 100 + made.completion_tokens / 10) / 3600)
    assert estimate(SOME[:1]).cost is None and estimate(SOME[:1]).hours is None


@pytest.mark.parametrize("rates", [(0, 1), (1, -1), (float("nan"), 1)])
def test_estimate_rate_must_be_positive(rates: tuple[float, float]) -> None:
    with pytest.raises(OptionError, match="more than 0"):
        Rate(*rates)


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=30)), max_size=5), st.integers(0, 2))
def test_estimate_of_gleaning_is_more_than_twice(texts: list[tuple[str, str]], gleanings: int) -> None:
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


def test_estimate_of_nothing_is_zero() -> None:
    assert estimate([], prices=Prices(1, 1), rate=Rate(1, 1)) == Estimate(0, 0, 0, 0, 0.0, 0.0)


def test_estimate_table_has_rows_and_columns() -> None:
    lines = estimate_table({kind: estimate(SOME, extraction=kind) for kind in KINDS}).splitlines()
    assert lines[0].split() == ["full", "triples"]
    assert [line[:17].strip() for line in lines[1:]] == [
        "chunks", "calls", "prompt tokens", "completion tokens", "hours", "cost",
    ]  # fmt: skip
    assert [line.split()[-2:] for line in lines[-2:]] == [["unknown", "unknown"]] * 2
