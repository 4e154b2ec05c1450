"""Descriptions of an entity: joined, summarised in canonical batches, or cut where no summary is known."""

from __future__ import annotations

import json

from graphwright.build.entity_numbers import description
from graphwright.extract.llm import Derived
from graphwright.models.budget import estimated_tokens

PARTS = [f"Fact {i} about the river, with some words." for i in range(40)]


def summarised(parts: list[str], limit: int) -> tuple[str, list[str]]:
    """Derive until nothing is missing; return the description, and the lines of each call in order."""
    values: dict[bytes, str] = {}
    calls = []
    while True:
        derived = Derived(values)
        text = description("Mur", parts, limit, derived)
        if not derived.missing:
            return text, calls
        for key, task in derived.missing.items():
            calls.append(task.lines)
            values[key] = f"Summary {len(values)}."


def test_descriptions_within_limit_are_joined() -> None:
    derived = Derived()
    assert description("Mur", PARTS[:2], 100, derived) == " ".join(PARTS[:2]) and not derived.missing


def test_descriptions_without_summary_keep_first_that_fit() -> None:
    text = description("Mur", PARTS, 50, Derived())
    assert text == " ".join(PARTS[:4]) and estimated_tokens(text) <= 50 < estimated_tokens(" ".join(PARTS[:5]))
    assert description("Mur", PARTS, 1, Derived()) == PARTS[0]


def test_descriptions_over_limit_are_summarised_once() -> None:
    text, calls = summarised(PARTS, 50)
    assert text == "Summary 0." and len(calls) == 1
    lines = [json.loads(line) for line in calls[0].splitlines()]
    assert lines == [{"name": "Mur"}, *({"description": part} for part in PARTS)]


def test_many_descriptions_are_summarised_in_batches() -> None:
    parts = [f"Fact {i}. " + "word " * 100 for i in range(50)]
    text, calls = summarised(parts, 5)
    *batches, last = calls
    assert len(batches) > 1 and text == f"Summary {len(batches)}."
    assert all(estimated_tokens(batch) < 2_500 for batch in batches)
    read = [json.loads(line)["description"] for batch in batches for line in batch.splitlines()[1:]]
    assert read == parts  # each once, in order
    assert [json.loads(line)["description"] for line in last.splitlines()[1:]] == [
        f"Summary {i}." for i in range(len(batches))
    ]


def test_summary_over_limit_stops_summarising() -> None:
    derived = Derived()
    description("Mur", PARTS, 5, derived)
    (key,) = derived.missing
    assert description("Mur", PARTS, 5, Derived({key: "long " * 50})) == "long " * 50


def test_summary_depends_on_descriptions_only() -> None:
    first, second = Derived(), Derived()
    description("Mur", PARTS, 50, first)
    description("Mur", PARTS[:-1], 50, second)
    description("Mur", PARTS, 50, second)
    assert set(first.missing) < set(second.missing) and len(second.missing) == 2
