from __future__ import annotations

import json
from pathlib import Path

import docs_figures
import pytest
from docs_figures import FigureError, figures, filled, main, pages, tables_of

PAGE = """# Results

| set | score |
| --- | ---: |
| all | 1.0 |

## One

### First

| set | method | score |
| --- | ---: | ---: |
| films | `a` | **81.5** (70.0–90.0) |
|  | `b` | 1,234.56 (1.0–2.0) |
| rivers | `a` | 3.0 |

## Two

### First

| set | score |
| --- | ---: |
| films | 4.0 |

State of the code: abc.
"""


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of results with one page and one file of numbers."""
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / "times.json").write_text(json.dumps({"code": {"": ["def"]}, "results": {"a": [{"s": 0.1234}]}}))
    monkeypatch.setattr(docs_figures, "RESULTS", tmp_path)
    return tmp_path


def test_table_headings_and_blank_first_cells_are_filled() -> None:
    tables = dict(tables_of(PAGE))
    assert list(tables) == ["", "One > First", "Two > First"]
    assert [row[0] for row in tables["One > First"].rows] == ["films", "films", "rivers"]


def test_table_rows_and_columns_are_selected_by_name() -> None:
    call = 'page.md "One > First" rows="rivers = Rivers; films \\\\| b" columns="set; score = points"'
    expected = "\n\n| set | points |\n| --- | ---: |\n| Rivers | 3.0 |\n| films | 1,234.56 (1.0–2.0) |\n\n"
    assert figures(call) == expected


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ('page.md "One > First" cell="films; score"', "81.5"),
        ('page.md "One > First" cell="films \\\\| b; score" round=0', "1,235"),
        ('page.md "Two > First" cell="films; score"', "4.0"),
        ('page.md cell="all; score"', "1.0"),
        ('times.json "a > 0 > s" round=2', "0.12"),
        ('times.json "a > 0 > s" times=100', "12.3"),
    ],
)
def test_cell_and_number_are_formatted(call: str, value: str) -> None:
    assert figures(call) == value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("none.md", "there are no results none.md"),
        ("page.md Three", "no table 1 below 'Three'"),
        ("page.md table=4", "no table 4"),
        ('page.md "Two > First" rows="lakes"', "no row begins with 'lakes'; there are: films"),
        ('page.md "Two > First" columns="points"', "no column is called 'points'; there are: set, score"),
        ('times.json "a > 1 > s"', "no '1' among list"),
        ('times.json "b"', "no 'b' among a"),
    ],
)
def test_missing_result_is_named(call: str, message: str) -> None:
    with pytest.raises(FigureError) as error:
        figures(call)
    assert message in str(error.value)


def test_page_keeps_unfilled_tables_and_names_states() -> None:
    page = "".join(
        f"<!-- results: {call} -->old<!-- / -->\n"
        for call in ('page.md "Two > First" cell="films; score"', 'times.json "a > 0 > s"', "none.md", "states")
    )
    after, states, problems = filled(page)
    assert states == ["abc", "def"] and len(problems) == 1 and "none.md" in problems[0]
    assert ">4.0<" in after and ">0.1234<" in after and "none.md -->old<" in after
    assert "states abc, def of the code" in after
    assert filled(after)[0] == after


def test_check_reports_without_changes(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = results / "docs" / "some.md"
    page.parent.mkdir()
    (results / "README.md").write_text("No figures.\n")
    page.write_text('<!-- results: page.md cell="all; score" -->?<!-- / -->\n')
    monkeypatch.setattr(docs_figures, "ROOT", results)
    assert main(["--check"]) == 1 and "?" in page.read_text()
    assert main([]) == 0 and "1.0" in page.read_text()
    assert main(["--check"]) == 0


def test_documented_figures_equal_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for path in pages():
        text = path.read_text(encoding="utf-8")
        assert filled(text)[0] == text, f"{path}: run `python benchmarks/docs_figures.py`"
