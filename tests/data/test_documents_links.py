"""References between documents, read from files of every kind."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.document import Document, Skipped
from graphwright.data.documents import read_documents
from graphwright.data.links import resolved
from graphwright.data.records.read import links_of
from graphwright.errors import DataError
from graphwright.text.characters import file_name


def read(*paths: Path) -> tuple[dict[str, Document], list[Skipped]]:
    skipped: list[Skipped] = []
    return {document.id: document for document in read_documents(paths, skipped.append)}, skipped


def corpus(folder: Path, *ids: str, links: str = "", **fields: object) -> Path:
    rows = [{"id": i, "text": f"text of {i}", **fields} for i in ids]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if links:
        (folder / "links.tsv").write_text(links)
    return folder / "corpus.jsonl"


def links(documents: dict[str, Document]) -> dict[str, tuple[str, ...]]:
    return {name: document.links for name, document in documents.items() if document.links}


@pytest.mark.parametrize(
    ("given", "result"),
    [
        (["a", " b ", "a", "", 3, True, 1.5, {"id": "c"}], ("a", "b", "3")),
        ("a b\tc", ("a", "b", "c")),
        ("a b; c d;", ("a b", "c d")),
        (None, ()),
        (7, ()),
        ({"a": "b"}, ()),
        ([], ()),
    ],
)
def test_links_of_list_or_text_gives_ids(given: object, result: tuple[str, ...]) -> None:
    assert links_of(given) == result


@pytest.mark.parametrize("one_file", [True, False])
def test_read_documents_links_tsv_gives_links(one_file: bool, tmp_path: Path) -> None:
    pairs = "# who cites whom\n\na\tb\na\tc\tco_citation\t1\nb\tzzz\nalone\n\tb\na\tb\n"
    path = corpus(tmp_path, "a", "b", "c", links=pairs)
    (tmp_path / "other.jsonl").write_text('{"id": "d", "text": "not of the corpus"}\n')
    documents, skipped = read(path if one_file else tmp_path)
    assert links(documents) == {"a": ("b", "c"), "b": ("zzz",)}
    broken = [item for item in skipped if item.path.startswith(f"{tmp_path / 'links.tsv'}:")]
    assert [item.path.rpartition(":")[2] for item in broken] == ["6", "7"]
    assert broken[0].reason == "not two document ids separated by a tab: 'alone'" and not broken[0].unread
    others = [item.reason for item in skipped if item not in broken]
    assert others == ([] if one_file else ["the links of the corpus beside it, read with it"])


def test_read_documents_packed_links_join_those_of_field(tmp_path: Path) -> None:
    path = corpus(tmp_path, "a", "b", links_="no field of links", Links="b x")
    (tmp_path / "links.tsv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbfa\tb\r\na\ty\r\n"))
    documents, skipped = read(path)
    assert links(documents) == {"a": ("b", "x", "y"), "b": ("b", "x")} and not skipped
    assert documents["a"].metadata == {"links_": "no field of links"}


def test_read_documents_links_tsv_elsewhere_is_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,text,links\na,one,b c\nb,two,\n")
    (tmp_path / "links.tsv").write_text("id\ttext\nx\ta row\n")
    documents, _ = read(tmp_path)
    assert links(documents) == {"a": ("b", "c")} and documents["x"].text == "a row"


def test_read_documents_links_tsv_without_pairs_is_named_once(tmp_path: Path) -> None:
    path = corpus(tmp_path, "a", links="a b\n" * 500)
    documents, skipped = read(path)
    assert len(documents) == 1 and [item.path for item in skipped] == [str(tmp_path / "links.tsv")]
    assert skipped[0].reason.startswith("no links: not two document ids")


def test_read_documents_damaged_links_tsv_raises(tmp_path: Path) -> None:
    path = corpus(tmp_path, "a")
    packed = gzip.compress(b"a\tb\n" * 10_000)
    (tmp_path / "links.tsv.gz").write_bytes(packed[:-30])
    with pytest.raises(DataError, match=r"links\.tsv\.gz cannot be read to its end"):
        read(path)


def test_read_documents_repeated_document_with_other_links_raises(tmp_path: Path) -> None:
    row = {"id": "a", "text": "t"}
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(json.dumps({**row, "links": some}) for some in (["b", "c"], ["c", "b"])))
    assert len(read(path)[0]) == 1
    path.write_text("\n".join(json.dumps({**row, "links": some}) for some in (["b"], ["c"])))
    with pytest.raises(DataError, match="two different documents have the id 'a'"):
        read(path)


def test_read_documents_hyperlinks_become_links(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a b.md").write_text("See [sub](sub/c.html#part), [web](https://x.org/sub/c.html), ![i](i.png).")
    (tmp_path / "sub" / "c.html").write_text(
        '<nav><a href="../d.md">menu</a></nav><p><a href="../a%20b.md?x=1">up</a> <a href="c.html">me</a>'
        '<a name="here"></a><a href="/root.md">root</a><a href="../../out.md">out</a></p>'
    )
    (tmp_path / "d.md").write_text("[ref] here.\n\n[ref]: ./sub/../a%20b.md\n")
    documents, _ = read(tmp_path)
    assert links(documents) == {"a b.md": ("sub/c.html",), "d.md": ("a b.md",), "sub/c.html": ("a b.md",)}


parts = st.text(
    st.characters(blacklist_characters="/\\\0:\u200b\xad\ufeff", blacklist_categories=["Cs", "Cc", "Zl", "Zp"]),
    min_size=1,
    max_size=5,
)
parts = parts.filter(lambda part: part.strip() == part and part not in (".", ".."))
paths = st.lists(parts, min_size=1, max_size=4).map("/".join)


@given(paths, paths)
def test_resolved_relative_address_leads_to_file(here: str, there: str) -> None:
    up = "../" * here.count("/")
    assert resolved(here, [up + quote(there)]) == (() if here == there else (file_name(there),))
    assert resolved(here, [f"{up}../{quote(there)}", f"//{quote(there)}", f"#{there}", ""]) == ()
