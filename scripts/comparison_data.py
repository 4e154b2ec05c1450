"""Questions that compare two things: made from written properties and frames, and those of public sets."""

from __future__ import annotations

import gzip
import json
import random
import re
from calendar import month_name
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from graphwright.generate.comparison_heads import DIFFERENCE, OTHER, SAME, TRUE, WHICH
from graphwright.models.protocols import PassageText

HERE = Path(__file__).parent
KINDS = {"other": OTHER, "which": WHICH, "true": TRUE, "same": SAME, "difference": DIFFERENCE}
_AUXILIARIES = ("is", "was", "were", "can", "must", "may")
TIMES = ("minutes", "hours", "days", "months", "ms", "seconds", "weeks", "years", "min", "h", "s", "working days")
_CODES = ("A10", "B20", "X-500", "K7", "MX 3", "T-2000", "Lumo 20", "Lumo 40", "Varo S", "Varo L", "Neva 2", "Neva 3")
_FIRST = ("north", "south", "old", "new", "red", "blue", "upper", "lower", "small", "oat", "nut", "Bergmann", "Müller",
          "Acme", "March", "April", "river", "harbour", "second", "third", "Linz", "Graz", "Oslo", "steel")  # fmt: skip
_PLACES = ("Unit 4", "Unit 7", "Mill Street", "Harbour Road", "Lot 12", "Annex B", "Building C", "Site 3")


class Property(NamedTuple):
    """A property of kinds of things, predicates for the larger and the smaller one, and sentences that state it."""

    things: list[str]
    name: str
    larger: list[str]
    smaller: list[str]
    sentences: list[str]
    low: float
    high: float
    unit: str


class Question(NamedTuple):
    """A question with its kind, its sides, the sign of what is asked for (1 larger, 0 neither), and its source.

    `form`: the kind of value that is compared, "date", "time" or "". `passages`, and the texts of the two `values`,
    where they are known; `answer`: 0 or 1 for a side, None if unknown; `answers`: those of the set.
    """

    text: str
    kind: int | None
    sides: tuple[str, ...]
    sign: int
    source: str
    form: str = ""
    passages: tuple[PassageText, ...] = ()
    values: tuple[str, ...] = ()
    answer: int | None = None
    answers: tuple[str, ...] = ()


def properties() -> list[Property]:
    """Return the properties of comparisons.txt."""
    rows = [line.rstrip("\n").split(" | ") for line in (HERE / "comparisons.txt").open(encoding="utf-8")]
    return [_property(row) for row in rows if len(row) == 6 and not row[0].startswith("#")]


def _property(row: Sequence[str]) -> Property:
    *lists, values = row
    low, high = (float(number.replace(",", "")) for number in re.findall(r"\d[\d.,]*", values)[:2])
    unit = values.split()[-1]
    if values[0] in "€$£":
        unit = values[0] + (" million" if "million" in values else "")
    things, _, larger, smaller, sentences = (part.split("; ") for part in lists)
    return Property(things, row[1], larger, smaller, sentences, low, high, unit)


def frames() -> list[tuple[int, str]]:
    """Return the kind and the text of each frame."""
    lines = (HERE / "comparison_frames.txt").read_text(encoding="utf-8").splitlines()
    return [(KINDS[kind], text) for kind, _, text in (line.partition(" | ") for line in lines) if kind in KINDS]


def is_true(predicate: str, a: str, b: str) -> str:
    """Return the question whether a predicate such as "has more seats" holds of one thing against another."""
    word, _, rest = predicate.partition(" ")
    if word in _AUXILIARIES:
        return f"{word.capitalize()} {a} {rest} than {b}?"
    if word in ("has", "had"):
        asked, rest = ("Does" if word == "has" else "Did"), rest.replace("the ", "a ", 1)
        return f"{asked} {a} have {rest} than {b}?"
    if word.endswith("s"):
        return f"Does {a} {_plain(word)} {rest} than {b}?"
    return f"Did {a} {word} {rest} than {b}?"


def _plain(verb: str) -> str:
    if verb.endswith(("sses", "ches", "shes", "xes")):
        return verb[:-2]
    return verb[:-3] + "y" if verb.endswith("ies") else verb[:-1]


def names_of(thing: str, titles: Sequence[str], draw: random.Random) -> tuple[str, str]:
    """Return two names for things of a kind."""
    way = draw.randrange(5)
    if way == 0 or thing in ("person", "singer", "film", "company", "city", "writer", "painter", "band", "book"):
        a, b = draw.sample(list(titles), 2)
        return a, b
    if way == 1:
        a, b = draw.sample(_CODES, 2)
        return (f"the {a}", f"the {b}") if draw.random() < 0.7 else (a, b)
    if way == 2:
        a, b = draw.sample(_PLACES, 2)
        return f"the {thing} of {a}", f"the {thing} of {b}"
    if way == 3:
        first, second = draw.sample(range(1, 60), 2)
        return f"{thing} {first}", f"{thing} {second}"
    a, b = draw.sample(_FIRST, 2)
    return f"the {a} {thing}", f"the {b} {thing}"


def made(titles: Sequence[str], copies: int, seed: int = 0) -> Iterator[Question]:
    """Yield questions made from each property by each predicate, with the passages that state it."""
    draw, every = random.Random(seed), properties()
    by_kind: dict[int, list[str]] = {}
    for kind, frame in frames():
        by_kind.setdefault(kind, []).append(frame)
    for number, given in enumerate(every):
        for sign, predicates in ((1, given.larger), (-1, given.smaller)):
            for predicate in predicates:
                for kind in (WHICH, WHICH, TRUE):
                    for _ in range(copies):
                        yield _asked(given, number, kind, draw.choice(by_kind[kind]), predicate, sign, titles, draw)
        for kind in (SAME, DIFFERENCE, OTHER, OTHER, OTHER):
            for _ in range(2 * copies):
                yield _asked(given, number, kind, draw.choice(by_kind[kind]), given.larger[0], 0, titles, draw)


def _asked(
    given: Property, number: int, kind: int, frame: str, predicate: str, sign: int, titles: Sequence[str],
    draw: random.Random,
) -> Question:  # fmt: skip
    thing = draw.choice(given.things)
    a, b = names_of(thing, titles, draw)
    text = frame.format(
        a=a, b=b, n=thing, p=predicate, prop=given.name, q=is_true(predicate, a, b) if "{q}" in frame else ""
    )
    text = text[0].upper() + text[1:] if draw.random() < 0.9 else text.lower()
    form = "date" if given.unit in ("date", "year") else "time" if given.unit in TIMES else ""
    sides = (a, b) if kind != OTHER else ()
    if kind == OTHER:
        return Question(text, kind, sides, 0, f"made {number}", form)
    passages, values, answer = stated(given, number, thing, (a, b), sign, draw)
    return Question(text, kind, sides, sign, f"made {number}", form, passages, values, answer)


def stated(
    given: Property, number: int, thing: str, names: tuple[str, str], sign: int, draw: random.Random
) -> tuple[tuple[PassageText, ...], tuple[str, str], int]:
    """Return passages that state a property of two things between other properties, the values, and the side asked."""
    every = properties()
    same = [p for at, p in enumerate(every) if at != number and thing in p.things]
    alike = [p for at, p in enumerate(every) if at != number and p.unit == given.unit and p not in same]
    others = draw.sample(same, min(len(same), 3)) + draw.sample(alike, min(len(alike), 1)) + draw.sample(every, 1)
    others = [other for other in others if other.name != given.name]
    style = draw.randrange(4)
    low, high = draw.random(), draw.random()
    if abs(low - high) < 0.05:
        high = (low + 0.4) % 1
    texts, values = [], [written(given, share, style) for share in (low, high)]
    for name, value in zip(names, values, strict=True):
        shown = name.removeprefix("the ")
        if shown in _CODES and draw.random() < 0.5:
            shown = f"{shown} {thing}"
        lines = [draw.choice(given.sentences).format(x=shown, v=value)]
        for other in draw.sample(others, draw.randrange(len(others) + 1)):
            sentence = draw.choice(other.sentences)
            if draw.random() < 0.5:
                sentence = sentence.replace("The {x}", "It").replace("the {x}", "it")
            lines.append(sentence.format(x=shown, v=written(other, draw.random(), style)))
        if draw.random() < 0.6:
            draw.shuffle(lines)
        if draw.random() < 0.3 and len(lines) > 1:
            lines[:2] = [f"{lines[0].rstrip('.')} and {lines[1][0].lower()}{lines[1][1:]}"]
        texts.append(" ".join(lines))
    answer = int((high > low) == (sign > 0))
    if draw.random() < 0.3:
        return (PassageText("", "\n".join(texts)),), (values[0], values[1]), answer
    titles = [name.removeprefix("the ") if draw.random() < 0.4 else "" for name in names]
    return tuple(PassageText(t, text) for t, text in zip(titles, texts, strict=True)), (values[0], values[1]), answer


_MONTHS = month_name[1:]


def written(given: Property, share: float, style: int) -> str:
    """Return the value at a share of a property's range, as one of four styles writes it."""
    number = given.low + share * (given.high - given.low)
    if given.unit in ("date", "year"):
        year, month, day = int(number), int(share * 997) % 12, int(share * 7919) % 28 + 1
        if given.unit == "year" and style < 3:
            return str(year)
        return (f"{day} {_MONTHS[month]} {year}", f"{_MONTHS[month]} {day}, {year}", f"{year}-{month + 1:02}-{day:02}",
                f"{_MONTHS[month]} {year}")[style]  # fmt: skip
    digits = f"{number:.1f}" if given.high < 100 and given.unit not in ("acts", "floors", "pages") else f"{number:,.0f}"
    if given.unit[0] in "€$£":
        return f"{given.unit[0]}{digits}{given.unit[1:]}"
    return f"{digits}%" if given.unit == "%" and style % 2 else f"{digits} {given.unit}"


def break_questions(data: Path) -> Iterator[Question]:
    """Yield the questions of BREAK: comparisons with their sides and sign, and others."""
    with gzip.open(data / "qa/break_qdmr_dev/data.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for row in rows:
        operators, steps = re.findall(r"'(\w+)'", row["operators"]), row["steps"]
        source = "break " + row["id"].split("_")[0]
        if operators[-1] != "comparison":
            if operators[-1] not in ("arithmetic", "boolean", "superlative", "comparative"):
                yield Question(row["question"], OTHER, (), 0, source)
            continue
        last = re.search(r"\b(highest|lowest|higher|lower|more|less|larger|smaller|largest|smallest)\b", steps[-1])
        if last is None:
            continue
        sign = 1 if last[1] in ("highest", "higher", "more", "larger", "largest") else -1
        form = "date" if any(" when " in f" {step} " for step in steps) else ""
        yield Question(row["question"], WHICH, _sides(row["question"]), sign, source, form)


def _sides(question: str) -> tuple[str, ...]:
    """Return the two sides of a question that ends with "…, A or B?", () for another form."""
    match = re.fullmatch(r".*[,:] ?(.+?),? or (.+?)\s*\?", question)
    return (match[1].strip(), match[2].strip()) if match else ()


def multihop(data: Path, name: str) -> Iterator[Question]:
    """Yield the questions of a multi-hop set with their candidate passages; comparisons of values with their sides."""
    folder = data / "multihop" / name
    corpus = map(json.loads, (folder / "corpus.jsonl").open(encoding="utf-8"))
    passages = {row["id"]: PassageText(row["title"], row["text"]) for row in corpus}
    for row in map(json.loads, (folder / "questions.jsonl").open(encoding="utf-8")):
        texts = tuple(passages[at] for at in row.get("candidate_ids") or row["gold_ids"])
        yield _multihop(row, texts, [passages[at].title for at in row["gold_ids"]], name)


def _multihop(row: dict[str, Any], texts: tuple[PassageText, ...], titles: Sequence[str], name: str) -> Question:
    """Return a question of a set; the kind of a comparison is known in 2Wiki alone, and is None elsewhere."""
    question, answers = row["question"].strip(), [str(answer) for answer in row["answers"]]
    is_comparison = row["type"] == "comparison"
    lower = question.lower()
    ends = [(lower.find(title.lower()), title) for title in titles] if is_comparison else []
    sides = tuple(question[at : at + len(title)] for at, title in sorted(ends) if at >= 0)
    sides = sides if len(sides) == 2 else ()
    evidence = {head.lower(): value for head, _, value in row.get("evidences") or ()}
    values = tuple(evidence.get(side.lower(), "") for side in sides)
    kind = None if is_comparison and name != "2wiki" else OTHER
    if is_comparison and name == "2wiki":
        kind = SAME if answers[0] in ("yes", "no") else WHICH
    side = next((at for at, side in enumerate(sides) if side.lower() == answers[0].lower()), None)
    form = "date" if kind == WHICH else ""
    return Question(question, kind, sides, 0, name, form, texts, values, side, tuple(answers))
