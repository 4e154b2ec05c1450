"""Reading files of triples: tables, N-Triples, Parquet, and errors for other files."""

import gzip
from pathlib import Path

import duckdb
import pytest

from graphwright.data.graph_files.detect import dump_of
from graphwright.data.graph_files.dump import Dump
from graphwright.data.graph_files.rdf import add_functions, iri_name, unescaped
from graphwright.errors import DataError, OptionError


def rows(dump: Dump) -> list[tuple[object, ...]]:
    with duckdb.connect() as db:
        add_functions(db)
        return [row[:3] for row in db.execute(dump.rows()).fetchall() if row[3] == 0]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text", "options", "expected"),
    [
        ("kb.tsv", 'a\tr s\t"b"\n# a comment\n\nc\tr\t d\n', {}, [("a", "r s", '"b"'), ("c", "r", " d")]),
        ("kb.txt", "Kismet|directed_by|William Dieterle\n", {}, [("Kismet", "directed_by", "William Dieterle")]),
        ("kb.tsv", "subject\tobject\tpredicate\na\tb\tr\n", {}, [("a", "r", "b")]),
        ("kb.tsv", "head\tnote\ttail\trelation\na\tx\tb\tr\n", {}, [("a", "r", "b")]),
        ("kb.tsv", "a\tb\tx\tr\n", {"columns": ["1", "4", "2"]}, [("a", "r", "b")]),
        ("kb.csv", 'source,target,type\n"a, b", "c ""d""",r\n', {}, [("a, b", "r", 'c "d"')]),
        ("kb.csv", 'e,f\n"g\nh",i\n', {}, [("e", "linked to", "f"), ("g\nh", "linked to", "i")]),
        ("kb.csv", "a;r;b\n", {}, [("a", "r", "b")]),
        ("kb.tsv", "head\trelation\ttail\n", {"header": False}, [("head", "relation", "tail")]),
        ("net.edgelist", "# SNAP\n1 2\n3 4\n", {}, [("1", "linked to", "2"), ("3", "linked to", "4")]),
        ("kb.tsv", "a=r=b\n", {"mark": "="}, [("a", "r", "b")]),
    ],
)
def test_dump_of_table_columns_are_detected(tmp_path, name, text, options, expected):
    assert rows(dump_of(written(tmp_path / name, text), **options)) == expected


PACKAGES = "git,section,vcs\ngit,depends,perl\nperl,section,perl\nperl,depends,libc6\n"


@pytest.mark.parametrize(
    ("first", "is_header", "is_doubtful"),
    [
        ("package,property,value\n", True, False),
        ("package,Attribute,value\n", True, False),
        ("package,fact,value\n", False, True),
        ("git,property,value\n", False, False),  # a head that recurs
        ("package,section,value\n", False, False),  # a relation that recurs
        ("package,property,vcs\n", False, False),  # a tail that recurs
    ],
)
def test_dump_of_first_row_that_never_recurs_may_be_header(tmp_path, first, is_header, is_doubtful):
    for name, text in (("kb.csv", first + PACKAGES), ("kb.tsv", (first + PACKAGES).replace(",", "\t"))):
        table = dump_of(written(tmp_path / name, text))
        assert (table.header, table.may_have_header) == (is_header, is_doubtful)
        assert len(rows(table)) == 5 - is_header
        given = dump_of(tmp_path / name, header=False)
        assert len(rows(given)) == 5 and not given.may_have_header


@pytest.mark.parametrize(
    "text",
    [
        "package,property,value\ngit,depends,perl\nperl,depends,libc6\n",  # too few rows
        "a,r,b\nc,s,d\ne,t,f\ng,u,h\n",  # no relation recurs
        "a,b\nc,d\ne,f\ng,h\n",  # no relations
    ],
)
def test_dump_of_first_row_of_short_table_is_triple(tmp_path, text):
    table = dump_of(written(tmp_path / "kb.csv", text))
    assert not table.header and not table.may_have_header


def test_dump_of_wildcards_in_path_are_literal(tmp_path):
    path = written(tmp_path / "it's [all]*?.tsv", "a\tr\tb\n")
    written(tmp_path / "it's a.tsv", "x\tr\ty\n")
    assert rows(dump_of(path)) == [("a", "r", "b")]


def test_ntriples_terms_lose_their_marks(tmp_path):
    text = """# a comment
<http://x/Graz> <http://x/liesOn> <http://x/Mur> .
<http://x/Graz> <http://x/motto> "He said \\"Gr\\u00fc\\u00df Gott\\"\\n"@de . # remark
_:b1\t<http://x/age>\t"7"^^<http://www.w3.org/2001/XMLSchema#integer>.
"""
    assert rows(dump_of(written(tmp_path / "kb.nt", text))) == [
        ("http://x/Graz", "http://x/liesOn", "http://x/Mur"),
        ("http://x/Graz", "http://x/motto", 'He said "Grüß Gott"\n'),
        ("_:b1", "http://x/age", "7"),
    ]


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("<http://x/a> <http://x/p> <http://x/b> .", 0),
        ('<http://x/a> <http://www.w3.org/2000/01/rdf-schema#label> "A" .', 1),
        ("<http://x/a> <http://x/p> <http://x/b>", 2),
        ("<http://x/a b> <http://x/p> <http://x/b> .", 2),
        ('"literal" <http://x/p> <http://x/b> .', 2),
        ("<http://x/a> _:b <http://x/b> .", 2),
        ('<http://x/a> <http://x/p> "open .', 2),
        ('<http://x/a> <http://x/p> "" .', 2),
        ("   # only a comment", 3),
    ],
)
def test_ntriples_each_line_has_role(tmp_path, line, role):
    dump = dump_of(written(tmp_path / "kb.nt", line + "\n"))
    with duckdb.connect() as db:
        add_functions(db)
        assert [row[3] for row in db.execute(dump.rows()).fetchall()] == [role]


def test_parquet_columns_are_chosen_by_name(tmp_path):
    path = tmp_path / "kb.parquet"
    with duckdb.connect() as db:
        db.execute(f"COPY (SELECT 7 AS target, 'a' AS source, 'r' AS relation) TO '{path}' (FORMAT parquet)")
    assert rows(dump_of(path)) == [("a", "r", "7")]
    assert rows(dump_of(path, columns=["target", "relation", "source"])) == [("7", "r", "a")]


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("kb.docx", "x", {}, "no format of triples has this suffix"),
        ("kb.tsv", "\n\n", {}, "is empty"),
        ("kb.tsv", "a\tb\tc\td\n", {}, "4 parts"),
        ("kb.tsv", "a\tb\tc\n", {"columns": ["1", "2", "9"]}, "no column '9'"),
        ("kb.parquet", "not parquet", {}, "not a readable Parquet file"),
    ],
)
def test_dump_of_other_file_raises(tmp_path, name, text, options, message):
    with pytest.raises(DataError, match=message):
        dump_of(written(tmp_path / name, text), **options)


def test_dump_of_option_of_another_format_raises(tmp_path):
    for mark in ("", "::"):
        with pytest.raises(OptionError, match="the delimiter of"):
            dump_of(written(tmp_path / "kb.csv", "a,r,b\n"), mark=mark)
    with pytest.raises(OptionError, match="which are for tables"):
        dump_of(written(tmp_path / "kb.nt", ""), columns=["1", "2", "3"])
    with pytest.raises(OptionError, match="give head, relation and tail"):
        dump_of(written(tmp_path / "kb.tsv", "a\tr\tb\n"), columns=["1"])
    with pytest.raises(DataError, match="a folder"):
        dump_of(tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"a\tb\\n", "a\tb\\n"),
        (r"\U0001F600", "😀"),
        (r"\uD800", "\ufffd"),
        (r"\UFFFFFFFF", "\ufffd"),
        ("plain", "plain"),
    ],
)
def test_unescaped_sequences_are_replaced(text, expected):
    assert unescaped(text) == expected


@pytest.mark.parametrize(
    ("iri", "expected"),
    [
        ("http://x/a#Born_in", "Born in"),
        ("http://de.dbpedia.org/resource/M%C3%BCnchen", "München"),
        ("urn:isbn:123", "123"),
        ("_:b0", "_:b0"),
        ("7", "7"),
        ("see http://x/y", "see http://x/y"),
    ],
)
def test_iri_name_is_last_part(iri, expected):
    assert iri_name(iri) == expected


@pytest.mark.parametrize(
    ("codec", "name"), [("utf-16", "UTF-16"), ("utf-16-le", "UTF-16LE"), ("cp1252", "CP1252"), ("koi8_r", "KOI8-R")]
)
@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".nt", ".tsv.gz"])
def test_dump_of_other_encoding_raises_with_remedy(codec, name, suffix, tmp_path):
    who = (
        "\n".join(["Мария\tзнает\tИвана", "Борис Пастернак\tнаписал\tДоктор Живаго"])
        if codec == "koi8_r"
        else "Käthe\tkennt\tJürgen"
    )
    data = f"a\tb\tc\n{who}\n".encode(codec)
    path = tmp_path / f"kb{suffix}"
    path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    with pytest.raises(DataError, match=rf"is not in UTF-8 but, as it seems, in {name};.*convert it.*iconv -f {name} "):
        dump_of(path)


def test_dump_of_utf8_with_mark_or_damage_is_read(tmp_path):
    path = tmp_path / "kb.tsv"
    path.write_text("Käthe\tkennt\tJürgen\n", encoding="utf-8-sig")
    assert dump_of(path).width == 3
    path.write_bytes("Käthe\tkennt\tJürgen\n".encode() * 9 + b"\xff\tr\tb\n")
    assert dump_of(path).width == 3
    path.write_bytes(b"a\tr\tb\nc\0\tr\td\n")
    with pytest.raises(DataError, match="holds NUL bytes"):
        dump_of(path)


@pytest.mark.parametrize("name", ["kb.nt.gz", "kb.tsv.gz"])
def test_dump_of_damaged_gzip_raises_with_remedy(name, tmp_path):
    path, text = tmp_path / name, b"".join(b"<http://x/%d> <http://x/r> <http://x/b> .\n" % i for i in range(99))
    whole = gzip.compress(text)
    for data in (whole[: len(whole) // 2], text, whole[:12] + b"\xff" * 99):
        path.write_bytes(data)
        with pytest.raises(
            DataError, match=r"gz cannot be read to its end \(.+\)\. Fetch or pack it again, or remove \.gz"
        ):
            dump_of(path)


def test_dump_of_columns_that_are_not_read_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("subject,predicate,object,source\nAda,knows,Bo,letter 5\n")
    assert dump_of(tmp_path / "a.csv").unread == ("source",)
