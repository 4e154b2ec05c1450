"""Small sets in the shapes of the real ones, with texts of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RIVERS = {
    "mur": ("Mur", "The river flows through Graz. It joins the Drava near Legrad."),
    "drava": ("Drava", "The river joins the Danube near Osijek. It rises in Italy."),
    "graz": ("Graz", "A city in Styria. Its clock tower stands on a hill."),
    "osijek": ("Osijek", "A city in Slavonia. It has a fortress."),
}
ASKED = [
    {"id": "q1", "question": "Which river flows through Graz?", "answers": ["Mur"], "gold_ids": ["mur"], "type": "one"},
    {"id": "q2", "question": "Where does the Mur join?", "answers": ["Legrad"], "gold_ids": ["mur", "drava"]},
]


def write(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def write_corpus(path: Path) -> Path:
    return write(path, *({"id": name, "title": title, "text": text} for name, (title, text) in RIVERS.items()))


def sentences(name: str) -> tuple[str, list[str]]:
    """A passage as HotpotQA has it: its title, and its sentences, all but the first with a space in front."""
    title, text = RIVERS[name]
    first, second = text.split(". ")
    return title, [f"{first}.", f" {second}"]


def hotpot(number: int, *names: str, gold: tuple[str, ...], **more: Any) -> dict[str, Any]:
    return {
        "_id": f"h{number}",
        "question": f"What is asked here, {number}?",
        "answer": "Legrad",
        "type": "bridge",
        "level": "easy",
        "supporting_facts": [[RIVERS[name][0], 0] for name in gold],
        "context": [list(sentences(name)) for name in names],
        **more,
    }


def musique(identity: str, *names: str, gold: tuple[str, ...], **more: Any) -> dict[str, Any]:
    paragraphs = [
        {"idx": at, "title": RIVERS[name][0], "paragraph_text": RIVERS[name][1], "is_supporting": name in gold}
        for at, name in enumerate(names)
    ]
    return {
        "id": identity,
        "paragraphs": paragraphs,
        "question": f"What is asked of {identity}?",
        "question_decomposition": [{"id": at, "paragraph_support_idx": at} for at, _ in enumerate(gold)],
        "answer": "Legrad",
        "answer_aliases": ["at Legrad"],
        "answerable": True,
        **more,
    }
