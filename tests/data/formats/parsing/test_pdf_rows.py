"""Rows of PDF pages: no text is lost, whatever lines and rules there are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.data.formats.parsing.test_pdf_layout import lines

from graphwright.data.formats.parsing.pdf_rows import Line, Rule, Rules, rows_of, snapped

ends = st.integers(0, 10_000)
rules = st.builds(lambda at, one, other: Rule(at, min(one, other), max(one, other)), ends, ends, ends)
edges = st.lists(rules, max_size=9)


@given(st.lists(lines(), max_size=12), edges, edges)
def test_rows_of_any_lines_and_rules_keeps_every_letter(page: list[Line], across: list[Rule], down: list[Rule]) -> None:
    rows = rows_of(page, Rules(snapped(across), snapped(down)))
    parts = [part for row in rows for part in row.parts or (row,)]
    for texts in (rows, parts):
        assert sorted("".join(line.text for line in texts if line).replace(" ", "")) == sorted(
            "".join(line.text for line in page).replace(" ", "")
        )
