"""reStructuredText, AsciiDoc and source code."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.formats.made import extracted

from graphwright.data.formats.format import Extracted

RST = """:author: Anna

======
Rivers
======

.. note:: It is *very* **long**.
   And ``wide *x*``.

.. image:: mur.png
   :alt: A picture

The Mur
-------
See :ref:`the source <source>`, `Graz <graz.rst>`_ and :py:class:`~a.River`::

    river = 1

.. comment
   not read

====  ====
a     b
====  ====

Its source
~~~~~~~~~~
It rises. [1]_

The Enns
--------
.. [1] A note.
.. _target: http://x.y
"""

ADOC = """= Rivers
Anna <a@x.y>
:author: Anna
:toc:

[NOTE]
====
It is *very* _long_.
====

== The Mur
* Graz
** Leoben
See link:graz.adoc[Graz], <<source,the source>> and https://x.y[there].

[source,python]
----
= no heading
----
// a comment
|===
|River |km

|Mur |464
|===

=== Its source
image::mur.png[A picture]
It rises.
"""

PYTHON = '''"""Rivers."""
import os


class River:
    """A river."""

    def length(self):
        return 464

    async def name(self): ...


def main():
    pass
'''
RUST = "pub struct River {\n    km: u32,\n}\n\nimpl River {\n    pub fn length(&self) -> u32 {\n        1\n    }\n}\n"
C = "#include <x.h>\n\nstatic int length(struct river *r)\n{\n    if (r)\n        return f(r);\n    return 0;\n}\n"
SHELL = "#!/bin/sh\nbuild() {\n  echo x\n}\nfunction test_all {\n  :\n}\n"
SCRIPT = "export class River {\n  length() { return 1 }\n}\nconst name = (a) => a\nasync function main() {}\n"


def outline(document: Extracted) -> list[tuple[int, str]]:
    assert all(document.text.startswith(title, start) for start, _, title in document.headings)
    return [(heading.level, heading.title) for heading in document.headings]


GRID = """Table 1: Output of the plants

+--------+-----------------+
| Plant  | Tonnes          |
|        +--------+--------+
|        | Plan   | Actual |
+========+========+========+
| 東京   | 10     | 12     |
|        +--------+--------+
|        | 21     | 22     |
+--------+--------+--------+

.. table:: Colours

   ===== ====== ======
   Inputs       Output
   ------------ ------
   A     B      C
   ===== ====== ======
   red   blue   violet
                dark
   ===== ====== ======

   See \\*there*.

.. csv-table:: Staff
   :header: "Name", "Role"
   :delim: ;

   Ida; "potter;
   glazer"

.. csv-table:: Elsewhere
   :file: staff.csv
"""


def test_restructured_text_tables_are_records_named_by_their_captions() -> None:
    document = extracted("a.rst", GRID)
    assert [(r.type, [(f.name, f.text) for f in r.fields]) for r in document.records] == [
        ("Output of the plants", [("Plant", "東京"), ("Tonnes / Plan", "10"), ("Tonnes / Actual", "12")]),
        ("Output of the plants", [("Plant", "東京"), ("Tonnes / Plan", "21"), ("Tonnes / Actual", "22")]),
        ("Colours", [("Inputs / A", "red"), ("Inputs / B", "blue"), ("Output / C", "violet dark")]),
        ("Staff", [("Name", "Ida"), ("Role", "potter; glazer")]),
    ]
    assert "\n\n   See *there*.\n\n" in document.text and document.text.endswith("Elsewhere")


def test_restructured_text_marks_are_removed() -> None:
    document = extracted("a.rst", RST)
    assert outline(document) == [(1, "Rivers"), (2, "The Mur"), (3, "Its source"), (2, "The Enns")]
    assert document.text == (
        "Rivers\n\nIt is very long.\n\n   And wide *x*.\n\nThe Mur\n\n"
        "See the source, Graz and a.River:\n\n    river = 1\n\na | b\n\nIts source\n\nIt rises. [1]\n\nThe Enns\n\n"
        "[1] A note."
    )
    assert (document.title, document.metadata, document.links) == (
        "Rivers",
        {"author": "Anna"},
        ["graz.rst", "http://x.y"],
    )


def test_asciidoc_marks_are_removed() -> None:
    document = extracted("a.adoc", ADOC)
    assert outline(document) == [(1, "Rivers"), (2, "The Mur"), (3, "Its source")]
    assert document.text == (
        "Rivers\n\nAnna <a@x.y>\n\nIt is very long.\n\nThe Mur\n\n- Graz\n  - Leoben\n"
        "See Graz, the source and there.\n\n= no heading\n\nRiver: Mur; km: 464.\n\nIts source\n\nIt rises."
    )
    assert document.metadata == {"author": "Anna"} and document.links == ["graz.adoc", "https://x.y"]


def test_asciidoc_underlined_titles_are_headings() -> None:
    source = (
        "gitrivers(7)\n============\n\nNAME\n----\ngitrivers - rivers\n\nThe Mur[[MUR]]\n--------------\n"
        "[verse]\nIt is long:\n\n----\nA title?\n--------\n----\n\nIts mouth\n~~~~~~~~~\nLegrad.\n"
    )
    document = extracted("a.adoc", source)
    assert outline(document) == [(1, "gitrivers(7)"), (2, "NAME"), (2, "The Mur"), (3, "Its mouth")]
    assert document.text == (
        "gitrivers(7)\n\nNAME\n\ngitrivers - rivers\n\nThe Mur\n\nIt is long:\n\n"
        "A title?\n--------\n\nIts mouth\n\nLegrad."
    )


@pytest.mark.parametrize(
    ("name", "source", "definitions"),
    [
        ("a.py", PYTHON, [(1, "River"), (2, "length"), (2, "name"), (1, "main")]),
        ("a.rs", RUST, [(1, "River"), (1, "River"), (2, "length")]),
        ("a.c", C, [(1, "length")]),
        ("a.sh", SHELL, [(1, "build"), (1, "test_all")]),
        ("a.ts", SCRIPT, [(1, "River"), (1, "name"), (1, "main")]),
    ],
)
def test_source_code_definitions_are_sections(name: str, source: str, definitions: list[tuple[int, str]]) -> None:
    document = extracted(name, source)
    assert document.text == source and [(h.level, h.title) for h in document.headings] == definitions
    for heading in document.headings:
        line = source.count("\n", 0, heading.start)
        assert heading.title in source.split("\n")[line] and source[heading.start] not in " \n"
        assert document.places is not None
        place = document.places.of(heading.start, heading.start + 1)
        assert re.fullmatch(rf"line {line + 1} of ([\w.]+\.)?{heading.title}", place)


def test_source_code_places_name_lines_and_definition() -> None:
    source = (
        "import re\n\n# About rivers.\n@frozen(\n    slots=True,\n)\nclass River:\n    km = 4\n\n"
        "    @property\n    def name(self):\n        return 'Mur'\n\n    SIZE = 3\n\nEND = 1\n"
    )
    places = extracted("a.py", source).places
    assert places is not None

    def place(words: str) -> str:
        start = source.index(words)
        return places.of(start, start + len(words))

    assert place("import re") == "line 1" and place("# About rivers.") == "line 3 of River"
    assert place("km = 4") == "line 8 of River" and place("@property") == "line 10 of River.name"
    assert place("'Mur'") == "line 12 of River.name" and place("SIZE") == "line 14 of River"
    assert place("return 'Mur'\n\n    SIZE") == "lines 12-14 of River" and place("END = 1") == "line 16"
    assert place("SIZE = 3\n\nEND") == "lines 14-16"


def test_source_code_braces_do_not_end_definition() -> None:
    source = "class River\n{\npublic:\n  int km;\n};\n\n/** Its source. */\nint source(int km)\n{\n  return km;\n}\n"
    places = extracted("a.cpp", source).places
    assert places is not None
    found = [places.section(at, at + 1) for at in (source.index(part) for part in ("km;", "};", "/**", "return"))]
    assert found == ["River", "River", "source", "source"]


PIECES = [
    "= ",
    "== A",
    "* b",
    "|===",
    "|a |b",
    "----",
    "`x`",
    "<<a,b>>",
    "A\n=",
    ".. note::",
    "::",
    "  x",
    ":f: y",
    "\n",
    "def f():",
    "+--+--+",
    "+==+--+",
    "| a|  |",
    "== ==",
    "-- --",
    ".. csv-table:: t",
    ".. list-table:: t",
    "   * - a",
    "     - b",
    "| a | b |\n|---|---|\n| c | d |",
    "Table 1: a",
    "[^1]: a",
]


@given(st.lists(st.sampled_from(PIECES), max_size=20), st.sampled_from(["a.rst", "a.adoc", "a.py", "a.md", "a.html"]))
def test_text_formats_headings_lie_in_text(pieces: list[str], name: str) -> None:
    document = extracted(name, "\n".join(pieces))
    starts = [heading.start for heading in document.headings]
    assert starts == sorted(set(starts)) and all(start < len(document.text) for start in starts)


@pytest.mark.parametrize("name", ["a.rst", "a.adoc", "a.py", "a.c", "a.java", "a.js"])
@pytest.mark.parametrize(
    "unit",
    [
        "`",
        "[",
        "<<",
        "*a ",
        "|",
        "x(",
        "a b ",
        ":a:`",
        "static ",
        "=\n",
        "a\n-\n",
        "http://x",
        "+-+\n",
        "+-+-+\n| a |\n",
        "= =\na\n",
    ],
)
def test_text_formats_hostile_lines_take_linear_time(name: str, unit: str) -> None:
    assert extracted(name, unit * 30_000) is not None  # a quadratic reader takes minutes


def test_read_rst_code_is_as_written() -> None:
    source = "Clean::\n\n   echo `date` \\*\n   ----\n\n.. code-block:: ini\n   :linenos:\n\n   a = *b*\n\nThe *end*.\n"
    text = extracted("a.rst", source).text
    assert "   echo `date` \\*\n   ----\n" in text and "   a = *b*" in text
    assert "linenos" not in text and text.endswith("The end.")
