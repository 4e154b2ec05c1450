"""HTML pages: titles, visible text, encodings and links."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.formats.html import declared_encoding, html_text

PAGE = """<!doctype html><html><head><title> Rivers &amp;
 Lakes </title><meta charset="utf-8"><style>p {color: red}</style>
<script>if (a < b) "<p>no</p>"</script></head>
<body><nav><a href="/">Home</a></nav><h1>Rivers</h1>
<p>The <b>Ob</b> is&nbsp;5&thinsp;410&nbsp;km
   long.<br>It flows <i>north</i>.</p><!-- nothing -->
<ul><li>Irtysh<li>Tom</ul><table><tr><th>Name<th>km<tr><td>Ob<td>3&#54;50</table>
<p hidden>secret</p><div aria-hidden="true"><p>icon</p></div><pre>a
  b</pre><div><div>deep</div></div> tail</body></html>"""


def test_html_text_page_gives_title_and_visible_text() -> None:
    page = html_text(PAGE)
    assert page.links == []  # the menu is not what the page says
    assert page.title == "Rivers & Lakes"
    assert page.text.split("\n\n") == [
        "Rivers",
        "The Ob is 5 410 km long.\nIt flows north.",
        "- Irtysh\n- Tom",
        "Name: Ob; km: 3650.",
        "a\n  b",
        "deep",
        "tail",
    ]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("", ("", "")),
        ("just text", ("", "just text")),
        ("<p>a</b></i><div><p>un<closed x='>'>b &copy &bogus;", ("", "a\n\nunb © &bogus;")),
        ("<svg><title>icon</title></svg><h1> Real <em>one</em></h1>", ("Real one", "Real one")),
        ("<title></title><body>only < text & more", ("", "only < text & more")),
        ("<pre hidden>x</pre><p>a   b</p>", ("", "a b")),
        ('<p style="display: none">x</p><p style="color:red; visibility : hidden">y</p><p>b</p>', ("", "b")),
    ],
)
def test_html_text_malformed_page_is_read(page: str, expected: tuple[str, str]) -> None:
    assert (html_text(page).title, html_text(page).text) == expected


@given(st.text(), st.lists(st.sampled_from(["<p>", "</div>", "<td", "<b>x", "&#x0;", "<!--", "<pre>", "<br/>"])))
def test_html_text_any_page_is_read(text: str, tags: list[str]) -> None:
    page = html_text(text.join(tags))
    assert all(isinstance(value, str) for value in (page.title, page.text, *page.links))


@pytest.mark.parametrize(
    "page", [b"<meta charset=koi8-r>", b'<META http-equiv="Content-Type" content="text/html; charset=KOI8-R">']
)
def test_declared_encoding_meta_element_is_read(page: bytes) -> None:
    assert declared_encoding(page).lower() == "koi8-r"
    assert declared_encoding(b"<p>charset=none") == ""


def test_html_text_links_are_as_written() -> None:
    page = "<nav><a href=n>n</a></nav><p><a href='a b.html#c'>x</a><a>no</a><a href=''>e</a><a href=&#x41;><b>y</b></a>"
    assert html_text(f"{page}<div hidden><a href=h>h</a></div>").links == ["a b.html#c", "A"]


SITE = """<body><div class="navheader"><a href=p>Prev</a> <a href=n>Next</a></div><ul class="menu"><li><a>Home</a></ul>
<div role="main"><h1>Install<a class="headerlink" href="#i">¶</a></h1><p>Use \xadapt. {}</p><h2> On <b>Linux</b> </h2>
<p>Two.</p><p>Go <a href=z>next</a> door.</p></div>
<div><p>Copyright</p></div></body>"""


def test_html_text_menus_are_left_out() -> None:
    page = html_text(SITE.format("It is good. " * 5))
    text, headings = page.text, page.headings
    assert text.split("\n\n")[0] == "Install" and text.endswith("Two.\n\nGo next door.") and page.links == ["z"]
    assert [(level, name) for _, level, name in headings] == [(1, "Install"), (2, "On Linux")]
    assert all(text.startswith(name, start) for start, _, name in headings)


def test_html_text_small_main_element_is_not_content() -> None:
    page = f"<main><p>Search</p></main><div><h2>Rivers</h2>{'<p>The Mur is long.</p>' * 9}</div>"
    site = html_text(page)
    assert site.text.startswith("Search\n\nRivers") and site.headings[0].start == 8


TAGS = ["<h1>", "</h1>", "<p>", "</p>", "<a href=x>", "next", " | ", "<li>", "A b", "\n", "<pre>"]


@given(st.lists(st.sampled_from(TAGS)))
def test_html_text_headings_lie_in_text(tags: list[str]) -> None:
    page = html_text("".join(tags))
    for start, _, title in page.headings:
        assert "".join(page.text[start:].split()).startswith("".join(title.split())) and title


def test_html_text_anchor_sign_is_left_out_of_heading() -> None:
    heading = "<h2><a href='#built'>Built</a><a href='#built'>\U0001f517</a></h2>"
    found = html_text(f"<h1>Pier<a href='#pier'>\u00b6</a></h1>{heading}<p>1881 <a href='#n'>*</a>")
    assert (found.text, [heading.title for heading in found.headings]) == ("Pier\n\nBuilt\n\n1881 *", ["Pier", "Built"])


DATA = """<h1>Countries</h1><table><caption>Area of countries</caption><thead><tr><th rowspan=2>Country</th>
<th colspan=2>Area</th></tr><tr><th>km²</th><th>sq mi</th></tr></thead><tbody><tr><td>Austria</td><td>83,879</td>
<td>32,386</td></tr><tr><td rowspan=2><a href="it.html">Italy</a></td><td>301,230</td><td>116,306</td></tr><tr>
<td>302,073</td><td>116,631</td></tr></tbody><tfoot><tr><td>Sum</td><td>687,182</td><td>265,323</td></tr></table>"""


def test_html_text_table_of_data_gives_records() -> None:
    page = html_text(f"<body>{DATA}<p>End.")
    assert [{field.name: field.text for field in record.fields} for record in page.records if not record.is_copy] == [
        {"Country": "Austria", "Area / km²": "83,879", "Area / sq mi": "32,386"},
        {"Country": "Italy", "Area / km²": "301,230", "Area / sq mi": "116,306"},
        {"Country": "Italy", "Area / km²": "302,073", "Area / sq mi": "116,631"},
    ]
    assert len(page.records) == 4 and {record.type for record in page.records} == {"Area of countries"}
    assert page.links == ["it.html"] and page.text.startswith("Countries\n\nArea of countries\nCountry: Austria;")
    for record in page.records:
        assert [page.text[field.start : field.end] for field in record.fields] == [f.text for f in record.fields]


def test_html_text_box_of_names_and_values_is_one_record() -> None:
    rows = "<tr><th colspan=2>Ada Lovelace<tr><th>Born<td>10 December 1815<tr><th>Died<td>1852"
    (record,) = html_text(f"<h2>People</h2><table>{rows}</table>").records
    assert record.type == "Ada Lovelace"
    assert [(field.name, field.text) for field in record.fields] == [("Born", "10 December 1815"), ("Died", "1852")]


@pytest.mark.parametrize(
    "page",
    [
        "<table><tr><td>Menu<td><h2>News</h2><p>Text.<tr><td>More<td>Text.</table>",
        "<table role=presentation><tr><td>a<td>b<tr><td>1<td>2</table>",
        "<table><tr><td>One<td>Two</table>",
    ],
)
def test_html_text_table_that_arranges_a_page_gives_no_records(page: str) -> None:
    assert html_text(page).records == ()


def test_html_text_table_in_table_of_layout_gives_records() -> None:
    inner = "<table><tr><th>k<th>v<tr><td>a<td>1</table>"
    (record,) = html_text(f"<table><tr><td>Left<td>{inner}</table>").records
    assert [(field.name, field.text) for field in record.fields] == [("k", "a"), ("v", "1")]


def test_html_text_row_of_a_title_is_the_type_of_its_table() -> None:
    rows = "<tr><td>No</td><td>Depth</td></tr><tr><td>1</td><td>7 m</td></tr><tr><td>2</td><td>9 m</td></tr>"
    page = html_text(f"<h1>Port</h1><table><tr><td colspan=2><b>Berths</b></td></tr>{rows}</table>")
    assert [record.type for record in page.records] == ["Berths", "Berths"]


def test_html_lists_and_notes_keep_their_form() -> None:
    page = (
        "<p>Bring<sup><a href='#n1'>1</a></sup>:<ul><li>boots<li>food:<ul><li>bread<li><p>cheese</ul><li>water</ul>"
        "<ol start=3><li>Lock<ol type=a><li>below</ol><li value=9>Go</ol>"
        "<dl><dt>Hut<dd>A house.<dt>Why?<dd>So.</dl><address>Alpine Club<br>Graz</address>"
        "<table><tr><th>Who<th>Where<tr><td>Ida<td><ul><li>Graz<li>Linz</ul></table>"
        "<ol><li id=n1>By rule. <a href='#r1'>↩</a></ol>"
    )
    assert html_text(page).text == (
        "Bring^1:\n\n- boots\n- food:\n  - bread\n  - cheese\n- water\n\n3. Lock\n  a. below\n9. Go\n\n"
        "Hut:\nA house.\n\nWhy?\nSo.\n\nAlpine Club\nGraz\n\nWho: Ida; Where: Graz Linz.\n\n1. By rule."
    )
