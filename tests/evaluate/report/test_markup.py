"""Mark-up that texts cannot break."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from graphwright.evaluate.report.markup import Markup, embedded, named, tag
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser as HTMLParser
from tests.evaluate.report.small_run import HOSTILE

TEXTS = st.text() | st.sampled_from(HOSTILE)


@given(TEXTS, TEXTS)
def test_any_text_is_well_formed_as_child_and_as_attribute(child: str, attribute: str) -> None:
    root = ElementTree.fromstring(tag("p", child, title=attribute))
    assert list(root) == [] and set(root.attrib) == {"title"}


@pytest.mark.parametrize("text", [HOSTILE[0], HOSTILE[1], HOSTILE[6], "&lt;b&gt;", "]]>", "<!--"])
def test_a_text_is_read_back_as_it_was(text: str) -> None:
    node = HTMLParser(tag("p", text, title=text)).css_first("p")
    assert node is not None and node.text() == text and node.attributes["title"] == text


@given(st.recursive(TEXTS | st.integers() | st.none(), lambda one: st.lists(one) | st.dictionaries(TEXTS, one)))
def test_json_in_a_script_is_read_back_and_ends_nothing(value: object) -> None:
    text = embedded(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029") and "\n" not in text
    text.encode()


def test_markup_is_taken_as_it_is_and_nothing_else() -> None:
    assert tag("p", Markup("<b>x</b>"), ["<", None, 3, 0.5]) == "<p><b>x</b>&lt;30.5</p>"
    assert isinstance(tag("p"), Markup)


@given(TEXTS)
def test_a_name_keeps_all_its_letters(name: str) -> None:
    shown = "".join(ElementTree.fromstring(named(name)).itertext())
    assert shown == "".join(ElementTree.fromstring(tag("p", name)).itertext())
