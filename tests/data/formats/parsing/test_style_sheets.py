"""Elements that the style sheets in a page hide."""

from __future__ import annotations

import pytest

from graphwright.data.formats.html import html_text

GONE = {
    "class": "<style>.x{display:none}</style><p class='w x'>gone<p>Seen.",
    "visibility": "<style>p.x { color: red; VISIBILITY : Hidden !important }</style><p class=x>gone<p>Seen.",
    "list of selectors": "<style>/* { */ .a::after, #x > p:not(.y) {display:none}</style><div id=x><p>gone</div>Seen.",
    "screen": "<style>@media screen{.x{display:none}} @media print{.x{display:block}}</style><p class=x>gone<p>Seen.",
    "unfinished sheet": "<style>.q{content:'}'} .x{display:none</style><p class=x>gone<p class=q>Seen.",
    "weaker rule shows": "<style>#x{display:none} p{display:block}</style><p id=x>gone<p>Seen.",
    "link and heading": "<style>.x{display:none}</style><h1 class=x>gone</h1><a class=x href=h>gone</a><p>Seen.",
    "preheader of a mail": "<style>.pre{display:none;mso-hide:all}</style><div class=pre>gone</div><p>Seen.",
}
SEEN = {
    "other media": "<style media=print>p{display:none}</style><style>@media print{p{display:none}}</style><p>Seen.",
    "some screens": "<style>@media (max-width: 9em){p{display:none}} @supports(x:y){p{display:none}}</style><p>Seen.",
    "wide screens": "<style>.x{display:none} @media (min-width:9em){.x{display:block}}</style><p class=x>Seen.",
    "stronger rule": "<style>.tab.on{display:block} .tab{display:none}</style><p class='tab on'>Seen.",
    "own style": "<style>.x{display:none}</style><p class=x style='display:block'>Seen.",
    "pointer": "<style>.m p{display:none} .m:hover p{display:block}</style><div class=m><p>Seen.</div>",
    "check box": "<style>.p{display:none} #c:checked~.p{display:block}</style><input id=c><p class=p>Seen.",
    "script": "<style>.answer{display:none}</style><script>open('.answer')</script><p class=answer>Seen.",
    "script elsewhere": "<style>.t{display:none} .t.on{display:block}</style><script src=t></script><p class=t>Seen.",
    "loading page": "<style>body{visibility:hidden}</style><p>Seen.",
    "no such element": "<style>.x{display:none} :bad(x){display:none} .y::before{display:none}</style><p class=y>Seen.",
    "nested rule": "<style>.y{color:red; p{display:none}}</style><p>Seen.",
    "without scripts": "<noscript><style>p{display:none}</style></noscript><p>Seen.",
}


@pytest.mark.parametrize("page", GONE.values(), ids=GONE)
def test_html_text_element_that_a_style_sheet_hides_is_left_out(page: str) -> None:
    read = html_text(page)
    assert (read.text, read.title, read.links) == ("Seen.", "", [])


@pytest.mark.parametrize("page", SEEN.values(), ids=SEEN)
def test_html_text_element_that_a_reader_can_see_is_kept(page: str) -> None:
    assert html_text(page).text == "Seen."


def test_html_text_hidden_column_of_a_table_is_left_out() -> None:
    table = "<tr><th>Port<th class=x>Key<th>t<tr><td>Graz<td class=x>7<td>12<tr class=x><td>no<td>8<td>9"
    page = html_text(f"<style>.x{{display:none}}</style><table>{table}</table>")
    assert page.text == "Port: Graz; t: 12."
    assert [[field.name for field in record.fields] for record in page.records] == [["Port", "t"]]
