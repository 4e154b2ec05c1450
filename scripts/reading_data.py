"""What the cross-encoder learns from: questions with candidate passages, real ones and made ones.

Real: HotpotQA, 2WikiMultiHopQA, SciFact, XQuAD and COVID-QA, of each the questions whose hash is not held out. Made: a
sentence of a passage without one of its names, dates or numbers, its words thinned out, worded as a question (after
the cloze questions of Lewis et al., 2019). Candidates are what a hybrid search, and on the multihop sets a walk, finds.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from graphwright import Document, Index, start
from graphwright.data.question_sets.datasets import read_dataset
from graphwright.methods.registry import make_method
from graphwright.models.protocols import NamedEncoder

REAL = ("hotpotqa", "2wiki", "scifact", "xquad", "covidqa")
MADE = {"hotpotqa": 1.0, "2wiki": 1.0, "scifact": 0.3, "covidqa": 0.4}  # share of passages that a question is made of
HYBRID, WALKED = 50, 30
OTHERS = 1500  # passages without an answer that are kept of these
WINDOW, STEP = 900, 600  # characters of the passages that the articles of COVID-QA are cut into


@dataclass
class Asked:
    """A question with its candidates: `gold`, `pool` (best first) and `walked` are ids of passages."""

    id: str
    text: str
    gold: list[str]
    answers: list[str]
    pool: list[str] = field(default_factory=list)
    walked: list[str] = field(default_factory=list)
    made: bool = False

    @property
    def held_out(self) -> bool:
        """Whether it is one of the three in ten that nothing is trained on."""
        return self._drawn % 10 < 3

    @property
    def _drawn(self) -> int:
        return int(hashlib.sha256(self.id.encode()).hexdigest(), 16)


@dataclass
class Part:
    """One set: its questions, and its passages by id: title and text."""

    name: str
    questions: list[Asked]
    passages: dict[str, tuple[str, str]]

    def text(self, passage: str) -> str:
        """Return a passage as models are shown it."""
        return "\n".join(self.passages[passage])


def read_part(name: str, data: Path, folder: Path, encoder: NamedEncoder | None = None) -> Part:
    """Read a set, make an index of it in a folder, and search that for the candidates of each question."""
    questions, passages = read_squad(name, data) if name in ("xquad", "covidqa") else _dataset(name, data)
    part = Part(name, questions, passages)
    with Index.create(folder, encoder=encoder) as index:
        rows = (Document(key, text, title, whole=True) for key, (title, text) in passages.items() if text.strip())
        index.add(list(rows))
        hybrid = make_method("hybrid", index.snapshot, top_k=HYBRID).search
        walk = make_method("multihop", index.snapshot, top_k=WALKED).search
        for question in questions:
            state = start(question.text, index.graph)
            question.pool = [passage.document for passage in hybrid(state).passages or ()]
            if (data / "multihop" / name).is_dir():
                question.walked = [passage.document for passage in walk(state).passages or ()]
    return part


def _dataset(name: str, data: Path) -> tuple[list[Asked], dict[str, tuple[str, str]]]:
    folder = next(path for path in (data / "multihop" / name, data / "ir" / name) if path.is_dir())
    read = read_dataset(folder)
    passages = {document.id: (document.title, document.text) for document in read.documents(lambda skipped: None)}
    questions = [Asked(q.id, q.text, [*q.gold], [*q.answers]) for q in read.questions if q.gold]
    return questions, passages


def read_squad(name: str, data: Path) -> tuple[list[Asked], dict[str, tuple[str, str]]]:
    """Read a file in the form of SQuAD; long texts become passages that overlap by a third."""
    file = {"xquad": "xquad.en.json", "covidqa": "covidqa_200423.json"}[name]
    articles = json.loads((data / "reading" / file).read_text("utf-8"))["data"]
    questions: list[Asked] = []
    passages: dict[str, tuple[str, str]] = {}
    for article in articles:
        for paragraph in article["paragraphs"]:
            whole = paragraph["context"]
            title = article.get("title", "").replace("_", " ") or whole.partition("\n")[0][:200]
            places = {at: f"{name}-{len(passages) + n}" for n, at in enumerate(_windows(whole, name == "covidqa"))}
            for at, key in places.items():
                passages[key] = (title, whole[at : at + WINDOW] if name == "covidqa" else whole)
            for asked in paragraph["qas"]:
                answer = asked["answers"][0]
                begin = answer["answer_start"]
                text = answer["text"].strip()
                end = begin + len(text)
                inside = [k for at, k in places.items() if name == "xquad" or at <= begin < end <= at + WINDOW]
                if inside:
                    questions.append(Asked(str(asked["id"]), asked["question"], inside, [text]))
    return questions, _thinned(passages, {key for question in questions for key in question.gold})


def _thinned(passages: dict[str, tuple[str, str]], wanted: set[str]) -> dict[str, tuple[str, str]]:
    """Return the wanted passages and some of the others: the articles of COVID-QA are long."""
    others = [key for key in passages if key not in wanted]
    chosen = wanted | set(random.Random(1).sample(others, min(len(others), OTHERS)))
    return {key: passage for key, passage in passages.items() if key in chosen}


def _windows(text: str, cut: bool) -> range:
    return range(0, max(1, len(text) - 300), STEP) if cut else range(1)


_SENTENCE = re.compile(r'(?<=[.!?])\s+(?=[A-Z"])')
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(rf"\b(?:\d{{1,2}} )?(?:{_MONTHS})(?: \d{{1,2}})?(?:,? \d{{4}})?\b")
_YEAR = re.compile(r"\b(1[5-9]\d\d|20[0-2]\d)\b")
_NUMBER = re.compile(
    r"\b\d[\d,.]*\d(?:%| percent| million| billion)?\b|\b(?:two|three|four|five|six|seven|eight|nine|ten)\b"
)
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'’-]+(?: (?:of|the|and|de|van|von|in) (?=[A-Z])| [A-Z][\w.'’-]+)*")
_PLACE = re.compile(r"\b(?:in|at|from|near|to)\s+$")
_PERSON = re.compile(
    r"\b(?:by|with|actor|actress|director|singer|president|author|writer|son of|daughter of|married|starring|named)\s+$"
)
_WORDINGS = {
    _DATE: ("when", "on what date", "what date"),
    _YEAR: ("when", "what year", "in which year"),
    _NUMBER: ("how many", "how much", "what number of"),
}
_PLACES = ("where", "what place", "which city", "what country", "which location")
_PERSONS = ("who", "whom", "which person")
_THINGS = ("what", "which", "who", "what is the name of")


def made_questions(part: Part, draw: random.Random) -> Iterator[Asked]:
    """Make a question of a share of the passages; the pool is for the caller to fill."""
    for key, (title, text) in part.passages.items():
        if draw.random() <= MADE.get(part.name, 0.0) and (made := _made(title, text, draw)) is not None:
            yield Asked(f"made-{part.name}-{key}", made[0], [key], [made[1]], made=True)


def _made(title: str, text: str, draw: random.Random) -> tuple[str, str] | None:
    sentences = [sentence for sentence in _SENTENCE.split(text) if 40 < len(sentence) < 350]
    if not sentences:
        return None
    sentence = draw.choice(sentences)
    places = [place for place in _answers(sentence) if sentence[slice(*place[:2])].lower() not in title.lower()]
    if not places:
        return None
    begin, end, kind = draw.choice(places)
    asked = _wording(sentence[:begin], kind, draw)
    left, right = _context(sentence[:begin].split(), sentence[end:].split(), title.split(" (")[0], draw)
    if draw.random() < 0.6:
        words = [asked, *right, *left] if draw.random() < 0.3 else [asked, *left, *right]
    else:
        words = [*left, asked, *right]
    question = " ".join(words).strip(" .,;:") + "?"
    if len(question.split()) < 5:
        return None
    return question[0].upper() + question[1:], sentence[begin:end].rstrip(".,")


def _answers(sentence: str) -> list[tuple[int, int, re.Pattern[str]]]:
    places: list[tuple[int, int, re.Pattern[str]]] = []
    for pattern in (_DATE, _YEAR, _NUMBER, _NAME):
        for match in pattern.finditer(sentence):
            begin, end = match.span()
            if end - begin > 2 and not any(begin < e and end > b for b, e, _ in places):
                places.append((begin, end, pattern))
    return places


def _wording(before: str, kind: re.Pattern[str], draw: random.Random) -> str:
    if kind in _WORDINGS:
        return draw.choice(_WORDINGS[kind])
    if _PLACE.search(before):
        return draw.choice(_PLACES)
    return draw.choice(_PERSONS if _PERSON.search(before) else _THINGS)


def _context(left: list[str], right: list[str], title: str, draw: random.Random) -> tuple[list[str], list[str]]:
    """Return the words around the answer, some left out, with what a pronoun stands for or what it is all about."""
    near = draw.randint(4, 12)
    left = left[-near:] if draw.random() < 0.5 else left[:near]
    right = right[: draw.randint(2, 9)]
    if left and left[0] in ("He", "She", "It", "They", "His", "Her", "Its", "The"):
        left = ([title] if title and draw.random() < 0.7 else []) + left[1:]
    elif title and draw.random() < 0.35 and title not in " ".join(left + right):
        right = [*right, "of" if draw.random() < 0.5 else "in", title]
    return [w for w in left if draw.random() > 0.18], [w for w in right if draw.random() > 0.18]
