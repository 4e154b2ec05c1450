"""Markdown: text, titles and link targets."""

from __future__ import annotations

import pytest

from graphwright.data.formats.format import Extracted
from graphwright.data.formats.markdown import markdown_text

SOURCE = """---
title: "The Title"
author: Me
nested:
  - x
---
# Head *one* ##
Text with [link](http://x.y/a_(b)) and ![image](z.png "t"), `code_*x*`, snake_case_name, 2 * 3 * 4.
**bold *both* end** ***three*** __under__ _line_ ~~struck~~ \\*kept\\* &amp; <b>tag</b>.
<https://a.b> [ref][1] note[^1].
> quoted
> > deeper

Setext
======
- item one
1. number
***
| a | b |
|---|:-:|
| 1 | 2 |

```python
x = *y*  # not a heading

# nor this
```
<!-- hidden
lines -->
[1]: http://foo.example
[![badge](http://b)](http://c)
"""


def test_markdown_text_marks_are_removed() -> None:
    page = markdown_text(SOURCE)
    assert page.title == "The Title"
    assert page.metadata == {"author": "Me", "nested": "x"}
    assert page.text.split("\n") == [
        "Head one",
        "",
        "Text with link and image: t, code_*x*, snake_case_name, 2 * 3 * 4.",
        "bold both end three under line struck *kept* & tag.",
        "https://a.b ref note[1].",
        "quoted",
        "deeper",
        "",
        "Setext",
        "",
        "- item one",
        "1. number",
        "a: 1; b: 2.",
        "",
        "x = *y*  # not a heading",
        "",
        "# nor this",
        "",
        "badge",
    ]


def test_markdown_text_first_heading_is_title() -> None:
    assert markdown_text("intro\n\n## A `b` [c](d)\n# E").title == "A b c"
    assert markdown_text("no heading").title == ""
    assert markdown_text("---\nnot: closed\n").text == "not: closed"
    assert markdown_text("") == Extracted("", links=[])


def test_markdown_text_links_are_as_written() -> None:
    assert markdown_text(SOURCE).links == ["http://x.y/a_(b)", "http://foo.example", "http://c"]
    text = """---
see: "[front](front.md)"
---
[a](<b c.md> "t") [d]( e.md ) [f]() [g](h&amp;i.md) [j](k\\_l.md) ![m](n.png) [![o](p.png)](q.md)
`[r](s.md)` <!-- [t](u.md) -->
   [v]: <w x.md> 'y'
[^1]: note.md

~~~
[z](code.md)
~~~
"""
    assert markdown_text(text).links == ["b c.md", "e.md", "h&i.md", "k_l.md", "q.md", "w x.md"]


def test_markdown_text_headings_lie_in_text() -> None:
    source = "\n---\nx\n\nTop *one*\n===\ntext\n## Two ##\n```\n# no heading\n```\n\nThree\n---\n> # Quoted\n###\nend"
    page = markdown_text(source)
    text, headings = page.text, page.headings
    assert [(level, name) for _, level, name in headings] == [(1, "Top one"), (2, "Two"), (2, "Three"), (1, "Quoted")]
    assert all(text.startswith(name, start) for start, _, name in headings) and page.title == "Top one"


TABLES = r"""# Staff

Person | Age | Team
--- | ---: | :---:
Anna \| B | 30 | `Red`
Ben | 45 | [Blue](blue.md)
**All** | **75** |

> | Q | A |
> |---|---|
> | x | 1 |

```
| no | table |
|----|-------|
```
"""


def test_markdown_text_tables_give_records() -> None:
    page = markdown_text(TABLES)
    assert [(r.type, r.is_copy, {f.name: f.text for f in r.fields}) for r in page.records] == [
        ("Staff", False, {"Person": "Anna | B", "Age": "30", "Team": "Red"}),
        ("Staff", False, {"Person": "Ben", "Age": "45", "Team": "Blue"}),
        ("Staff", True, {"Person": "All", "Age": "75"}),
        ("Staff 2", False, {"Q": "x", "A": "1"}),
    ]
    for record in page.records:
        assert [page.text[field.start : field.end] for field in record.fields] == [f.text for f in record.fields]
    assert page.links == ["blue.md"] and "| no | table |" in page.text


def test_markdown_notes_and_line_breaks_keep_their_form() -> None:
    text = markdown_text(
        "Bring rope[^1]: so[^gas].\n\n[^1]: By the rules\n    of it.\n[^gas]: Both.\n\nAlpine Club\\\nBox 12  \nGraz\n"
    )
    assert (
        text.text == "Bring rope[1]: so[gas].\n\n[1] By the rules\n    of it.\n[gas] Both.\n\nAlpine Club\nBox 12\nGraz"
    )


def test_markdown_attributes_of_headings_are_no_text() -> None:
    table = "| Well | m |\n|---|---|\n| A | 3 |\n"
    page = markdown_text(
        f"# Wells {{-}}\n\n## Use of {{name}} ## {{: #use .wide }}\n\n{table}\nDeep {{#d k='v w'}}\n---\n{table}"
    )
    assert [heading.title for heading in page.headings] == ["Wells", "Use of {name}", "Deep"]
    assert [record.type for record in page.records] == ["Use of {name}", "Deep"]


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ('![weir](w.jpg "The weir in flood")', "weir: The weir in flood"),
        ("![](<a b.png> 'Old mill')", "Old mill"),
        ("![Gate](g.png (Gate))", "Gate"),
        ('[![state](b.svg "Build state")](c.html "tip")', "state: Build state"),
    ],
)
def test_markdown_title_of_image_is_text(image: str, expected: str) -> None:
    assert markdown_text(f"See {image}.\n").text == f"See {expected}."


def test_markdown_fence_in_quotation_or_list_is_code() -> None:
    quotation = "> Run:\n> ```sh\n> # Clean up\n> purge > log\n> ```\n> Done.\n\n"
    page = markdown_text(quotation + "- a\n    - b\n\n        ~~~\n        # no\n        ~~~\n")
    assert page.text.startswith("Run:\n# Clean up\npurge > log\nDone.") and "# no" in page.text
    assert "~~~" not in page.text and "```" not in page.text and page.headings == ()


def test_markdown_html_table_has_rows_as_in_a_page() -> None:
    header = '<tr><th rowspan="2">Pump</th><th colspan="2">Pressure</th></tr>\n<tr><th>Summer</th><th>Winter</th></tr>'
    row = '<tr><th scope="row">P2</th><td>3.8 bar</td><td>4.9 bar</td></tr>'
    table = f"<table>\n{header}\n{row}\n<tr hidden><td>P9</td><td>1</td><td>2</td></tr>\n</table>"
    page = markdown_text(f"# Pumps\n\nPressures:\n{table}\n\n*All* measured.")
    assert "Pump: P2; Pressure / Summer: 3.8 bar; Pressure / Winter: 4.9 bar." in page.text and "P9" not in page.text
    assert page.text.endswith("All measured.") and page.records[0].fields[2].text == "4.9 bar"


def test_markdown_cell_keeps_its_sign() -> None:
    assert "limit: x > 3" in markdown_text("| name | limit |\n|---|---|\n| a | x > 3 |").text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<details><summary>Warranty</summary>Two years.</details>\n\nAfter", "Warranty\n\nTwo years.\n\nAfter"),
        ("<ul>\n<li>One</li>\n<li>Two</li>\n</ul>\n\n<ol><li>First</li><li>Second</li></ol>",
         "- One\n- Two\n\n1. First\n2. Second"),
        ("<script>\nvar a = '# no';\n</script>\n\n<style>\n.x{top:0}\n</style>\nSeen", "Seen"),  # type 1
        ("<pre>\n# kept\n\n```\na &lt; b\n</pre>\nAfter", "# kept\n\n```\na < b\n\nAfter"),
        ("<?php echo '# x';\n?>\n\n<!DOCTYPE html>\n\n<![CDATA[\n# x\n]]>\nSeen", "Seen"),  # types 3 to 5
        ("<div>\n\n*Marked*\n\n</div>\n\n> <p>In</p>\nout", "Marked\n\nIn\n\nout"),  # type 6
        ("<p style='display:none'>gone</p>\n\nSeen", "Seen"),
        ("1. Open\n\n   <p>Wait a <b>bit</b></p>\n\n2. Close", "1. Open\n\nWait a bit\n\n2. Close"),
        ("<img\n  src='a.png'\n  alt='x'\n/>\n\nSeen", "Seen"),
        ("if x <y and\nz > 3 then", "if x <y and\nz > 3 then"),
        ("<!--\n```\nhidden\n# x\n-->Seen <!-- a --> it `<!-- b`", "Seen  it <!-- b"),  # type 2
        ("```\n<!-- kept -->\n<div>\n```", "<!-- kept -->\n<div>"),
        ("open <!-- comment\nkept", "open <!-- comment\nkept"),
    ],
)  # fmt: skip
def test_markdown_text_html_block_is_read_as_in_a_page(source: str, text: str) -> None:
    assert markdown_text(source).text == text


def test_markdown_text_headings_and_links_of_html_blocks_are_kept() -> None:
    page = markdown_text('<h1 align="center">\n <img src=l.png>\n Pump <a href="u.md">line</a>\n</h1>\n\n## Use\n\nIt.')
    assert (page.title, [heading.title for heading in page.headings], page.links) == (
        "Pump line",
        ["Pump line", "Use"],
        ["u.md"],
    )
