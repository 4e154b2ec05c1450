"""Time is linear in input that anybody may send: hostile text is doubled, and the times are compared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from pydantic import BaseModel
from tests.faults.linear_time import assert_linear
from tests.shared import corpus_index

from graphwright.cli import terminal
from graphwright.data.document import Document, split
from graphwright.data.formats.html import html_text
from graphwright.data.formats.markdown import markdown_text
from graphwright.errors import OptionError
from graphwright.extract import LexicalExtractor
from graphwright.extract.extraction import Excerpt
from graphwright.extract.extractors import _united
from graphwright.models.openai.errors import Secret
from graphwright.models.structured import parse_reply
from graphwright.operators.anchors.link_entities import _candidates, _joined
from graphwright.operators.state import MAX_QUESTION
from graphwright.text import names, sentences, words
from graphwright.text.characters import clean


class Place(BaseModel):
    name: str


def _link(question: str) -> None:
    list(_joined(question, list(_candidates(question, set()))))


CASES: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "html": (html_text, ("<div>", "<div></b>", "<b><div></b>", "<p><b>", "<div '>", "<a href=x><div>", "<svg><g>")),
    "markdown": (
        markdown_text,
        ("[", "![", "*", "*a ", "_a ", "`", "` a", "<a ", "<!-- ", "> ", "- ", "|-", "[a](", "[a](b", "]: ", "\\"),
    ),
    "link": (_link, ('"Ab" ', '{"a":', "“a” ", "Ab of ", '"')),
    "normal form": (names.normal_form, ("the ", "a ", "A.", "'s")),
    "aliases": (names.aliases_of, ("(a)", "( ", "(\n", "a, ", "A. ")),
    "dates": (lambda text: list(names.dates_and_quotes(text)), ("1,", "1.", '"', "May ", "“")),
    "statement": (lambda text: sentences.is_statement(f"{text}a"), (".", ". ", "!(")),
    "sentences": (sentences.sentence_spans, (".", "a", "\n", ". ", ".)")),
    "words": (lambda text: (words.frequent_terms(text), words.repeated_phrases(text)), ("東", "ab ", "a")),
    "clean": (clean, ("\r", "\x00", "\x0b")),
    "JSON": (partial(parse_reply, Place), ('{"a":', "{", '"', "{}", '{"', "<think>")),
    "key": (Secret("sk-proj/0123+AbC_9").hidden, ("\\", "\\u0073", "s", "&#", "%73")),
    "terminal": (terminal.clean, ("\x90", "\x1b]", "\x1b[0", "\x1b", "\u200d")),
    "split": (lambda text: split(Document("d", text)), ("a", "a ", ".", "\n")),
}


@pytest.mark.parametrize(("name", "part"), [(name, part) for name, (_, parts) in CASES.items() for part in parts])
def test_reading_time_is_linear_in_input(name: str, part: str) -> None:
    work, _ = CASES[name]
    short = part * (10_000 // len(part))
    assert_linear(partial(work, short), partial(work, short * 4))


def test_overlapping_titles_are_found_in_linear_time() -> None:
    title = "(" + " " * 20_000
    assert names.aliases_of(title) == ()
    _united("a a", "a a " * 20_000, [])
    LexicalExtractor().extract([Excerpt("d", " " * 20_000 + "(", "Graz lies on the Mur. " * 10)])


def test_deeply_nested_pages_keep_text() -> None:
    inside = "Graz <b>lies</b> <a href=x>on the Mur.</a>"
    page = html_text("<div>" * 2_000 + inside + "</div>" * 2_000 + "End")
    assert page.text == "Graz lies on the Mur.\n\nEnd" and list(page.links) == ["x"]


def test_long_question_raises_with_limit() -> None:
    index = corpus_index()
    assert index.retrieve("Who? " * (MAX_QUESTION // 5)).passages is not None
    with pytest.raises(OptionError, match="100,001 characters; at most 100,000"):
        index.ask("?" * (MAX_QUESTION + 1))
