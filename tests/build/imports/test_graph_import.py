"""Importing files of triples: equal to the graph of the same triples, in every format."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Graph
from graphwright.build.imports import graph_import
from graphwright.build.imports.assembly import graph_of
from graphwright.build.imports.graph_import import ImportedGraph, import_graph
from graphwright.data.graph_files.detect import dump_of
from graphwright.data.graph_files.read_graph import read_property_graph
from graphwright.errors import DataError
from graphwright.graph.graph import Graph as AnyGraph

KIN = [("Bertha", "mother of", "Lothair II"), ("Lothair II", "spouse", "Teutberga"), ("Bertha", "mother of", "Gisela")]


def tsv(path: Path, triples: object) -> Path:
    path.write_text("".join("\t".join(t) + "\n" for t in triples), encoding="utf-8")
    return path


def read(tmp_path: Path, *files: Path, **options: object) -> ImportedGraph:
    return import_graph([dump_of(file) for file in files], tmp_path / "scratch", **options)


def triples_of(result: ImportedGraph) -> list[tuple[str, str, str]]:
    graph = AnyGraph(result.columns)
    return [graph.triple(edge) for edge in range(len(result.columns.heads))]


names = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r\x01\0"), min_size=1, max_size=6).filter(
    lambda name: name.strip() and not name.startswith("#")
)


@given(triples=st.lists(st.tuples(names, names, names), min_size=1, max_size=30))
def test_import_equals_graph_of_triples(triples, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dump")
    result = read(folder, tsv(folder / "kb.tsv", triples))
    wanted = Graph.from_triples(triples).columns
    assert result.columns.checksum == wanted.checksum
    assert triples_of(result) == triples and result.malformed == 0


def test_import_blocks_and_files_give_same_graph(tmp_path, monkeypatch):
    triples = [(f"n{i % 37}", f"r{i % 5}", f"n{i * i % 41}") for i in range(500)]
    item = read(tmp_path / "one", tsv(tmp_path / "kb.tsv", triples))
    monkeypatch.setattr(graph_import, "_BLOCK", 7)
    parts = [tsv(tmp_path / f"part{i}.tsv", triples[at : at + 250]) for i, at in enumerate((0, 250))]
    several = read(tmp_path / "several", *parts)
    assert item.columns.checksum == several.columns.checksum == Graph.from_triples(triples).columns.checksum


def test_import_forms_give_same_graph(tmp_path):
    import duckdb

    wanted = Graph.from_triples(KIN).columns.checksum
    plain = tsv(tmp_path / "kb.tsv", KIN)
    with gzip.open(tmp_path / "kb2.tsv.gz", "wt") as packed:
        packed.write(plain.read_text())
    (tmp_path / "kb.csv").write_text("head,relation,tail\n" + "".join(",".join(t) + "\n" for t in KIN))
    iri = "<http://x/{}>"
    lines = (" ".join(iri.format(part.replace(" ", "_")) for part in t) + " .\n" for t in KIN)
    (tmp_path / "kb.nt").write_text("".join(lines))
    with duckdb.connect() as db:
        rows = ", ".join(str(t) for t in KIN)
        db.execute(f"COPY (SELECT * FROM (VALUES {rows}) t(h, r, t)) TO '{tmp_path / 'kb.parquet'}' (FORMAT parquet)")
    ends = "".join(f'<edge source="{h}" target="{t}"><data key="d">{r}</data></edge>' for h, r, t in KIN)
    (tmp_path / "kb.graphml").write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d" for="edge" attr.name="label"/>'
        f'<graph edgedefault="directed">{ends}</graph></graphml>'
    )
    for name in ("kb.tsv", "kb2.tsv.gz", "kb.csv", "kb.nt", "kb.parquet"):
        assert read(tmp_path / name.replace(".", "-"), tmp_path / name).columns.checksum == wanted, name
    graph = read_property_graph([tmp_path / "kb.graphml"])
    assert graph_of(graph.nodes, graph.edges).checksum == wanted


def test_import_of_ntriples_prefers_english_labels(tmp_path):
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    (tmp_path / "kb.nt").write_text(
        f'<http://x/Q1> {label} "Steiermark"@de .\n<http://x/Q1> {label} "Styria"@en .\n'
        f'<http://x/P1> {label} "lies in" .\n<http://x/Graz_1> <http://x/P1> <http://x/Q1> .\n'
    )
    result = read(tmp_path, tmp_path / "kb.nt")
    assert triples_of(result) == [("Graz 1", "lies in", "Styria")]
    assert result.ids == {0: "http://x/Graz_1", 1: "http://x/Q1"}
    assert result.labels == {1: ["Steiermark"]}


def test_import_names_file_labels_nodes_and_relations(tmp_path):
    kb = tsv(tmp_path / "kb.tsv", [("/m/1", "/r/2", "/m/3"), ("/m/3", "/r/2", "/m/4")])
    named = tsv(tmp_path / "names.tsv", [("/m/1", "Graz"), ("/r/2", "lies on"), ("/m/3", "Mur"), ("/m/9", "nobody")])
    result = read(tmp_path, kb, names=[dump_of(named)])
    assert triples_of(result) == [("Graz", "lies on", "Mur"), ("Mur", "lies on", "/m/4")]
    assert result.ids == {0: "/m/1", 1: "/m/3"}


def test_import_keeps_ids_of_equal_name_apart(tmp_path):
    kb = tsv(tmp_path / "kb.tsv", [("/m/1", "r", "/m/2")])
    named = tsv(tmp_path / "names.tsv", [("/m/1", "Graz"), ("/m/2", "Graz")])
    assert triples_of(read(tmp_path, kb, names=[dump_of(named)])) == [("Graz", "r", "Graz")]


@pytest.mark.parametrize("packed", [False, True])
def test_import_counts_and_shows_malformed_lines(tmp_path, packed):
    data = "a\tr\tbääääääääää\n\nc\tr\n?\tr\tb\nd\t\te\nx\ty\tz\tw\nf\tr\tg\n".encode().replace(b"?", b"\xff")
    path = tmp_path / ("kb.tsv.gz" if packed else "kb.tsv")
    path.write_bytes(gzip.compress(data) if packed else data)
    result = read(tmp_path, path, max_malformed=4)
    assert triples_of(result) == [("a", "r", "bääääääääää"), ("f", "r", "g")]
    assert result.malformed == 4
    assert [line.split(":")[0] for line in result.examples] == [f"{path.name}, line {n}" for n in (3, 4, 5, 6)]
    assert "'x\\ty\\tz\\tw'" in result.examples[3] and "encoding" in result.examples[1]


def test_import_shows_malformed_csv_records(tmp_path):
    (tmp_path / "kb.csv").write_text('head,relation,tail\na,r,"b\nb"\nc,,d\ne,r,f,g\nh,r,i\n')
    result = read(tmp_path, tmp_path / "kb.csv", max_malformed=9)
    assert triples_of(result) == [("a", "r", "b\nb"), ("h", "r", "i")]
    assert result.malformed == 2 and "'c,,d'" in result.examples[0] and "too many columns" in result.examples[1]


@pytest.mark.parametrize("broken", ["e,r,f,g,h,i", "e", '"e"x,r,f,g,h'])
def test_import_csv_record_with_several_errors_counts_once(tmp_path, broken):
    path = tmp_path / "kb.csv"
    path.write_text("head,relation,tail\na,r,b\n" + f"{broken}\n" * 5)
    with pytest.raises(DataError, match="5 of 6 rows are malformed"):
        read(tmp_path, path)
    assert read(tmp_path / "again", path, max_malformed=5).malformed == 5
    path.write_text("a,r,b\n" + "c,r" + ",d" * 400 + "\n" + "e\n" * 9)
    with pytest.raises(DataError, match="4 rows or more are malformed, and 3 are allowed"):
        read(tmp_path / "cut", path, max_malformed=3)


def test_import_over_malformed_limit_raises(tmp_path):
    lines = ["a\tr\tb\n"] * 30_000 + ["broken\n"] * 3
    (tmp_path / "kb.tsv").write_text("".join(lines))
    with pytest.raises(DataError, match=r"3 rows or more are malformed, and 2 are allowed.*line 30001: 'broken'"):
        read(tmp_path, tmp_path / "kb.tsv", max_malformed=2)
    assert read(tmp_path / "again", tmp_path / "kb.tsv", max_malformed=3).malformed == 3


def test_import_of_other_file_raises(tmp_path):
    (tmp_path / "kb.tsv").write_text("a\tr\tb\n" + "prose that goes on and on\n" * 200)
    with pytest.raises(DataError, match=r"200 rows or more are malformed.*Each row must have a head"):
        read(tmp_path, tmp_path / "kb.tsv")


def test_import_without_triples_raises(tmp_path):
    (tmp_path / "kb.nt").write_text("# nothing\n")
    with pytest.raises(DataError, match="there is no triple"):
        read(tmp_path, tmp_path / "kb.nt")


def test_import_of_small_file_allows_few_malformed_rows(tmp_path):
    path = tmp_path / "kb.tsv"
    path.write_text("a\tr\tb\n" * 18 + "c\td\n" * 2)
    assert read(tmp_path / "1", path).malformed == 2
    path.write_text("a\tr\tb\n" * 17 + "c\td\n" * 2)
    with pytest.raises(
        DataError, match=r"2 of 19 rows are malformed, more than one in ten.*line 18: 'c\\td'.*--max-malformed"
    ):
        read(tmp_path / "2", path)
    assert read(tmp_path / "3", path, max_malformed=2).malformed == 2
    path.write_text("a\tr\tb\n" + "c\td\n" * 3)
    with pytest.raises(DataError, match=r"no triple. Malformed: kb.tsv, line 2: 'c\\td'; kb.tsv, line 3"):
        import_graph([dump_of(path, header=True)], tmp_path / "4", max_malformed=9)


def test_import_resolves_hash_collisions(tmp_path, monkeypatch):
    salts = []

    def weak(self: object, salt: int) -> object:
        salts.append(salt)
        return "length({})::UBIGINT" if salt < 2 else f"hash(chr({salt}) || {{}})"

    monkeypatch.setattr(graph_import._Reader, "_hash", weak)
    result = read(tmp_path, tsv(tmp_path / "kb.tsv", KIN))
    assert salts == [0, 1, 2] and triples_of(result) == KIN


def test_import_reports_progress(tmp_path):
    messages: dict[str, tuple[int, int]] = {}
    read(
        tmp_path,
        tsv(tmp_path / "kb.tsv", KIN),
        progress=lambda what, done, total: messages.update({what: (done, total)}),
    )
    assert messages["read triples"] == (100, 100) and messages["number nodes"] == (3, 3) and "write names" in messages


@pytest.mark.parametrize("name", ["kb.tsv", "kb.csv"])
def test_import_names_mixed_line_ends(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    mark = "\t" if name.endswith("tsv") else ","
    file.write_bytes("a|r|b\r\nc|r|d\ne|r|f\r".replace("|", mark).encode())
    with pytest.raises(DataError, match="lines have different ends"):
        import_graph([dump_of(file)], tmp_path / "work")


def test_import_accepts_long_cells(tmp_path: Path) -> None:
    file, name = tmp_path / "kb.csv", "a" * 200_000
    file.write_text(f"{name},r,b\nc,r,{name}\n")
    assert import_graph([dump_of(file)], tmp_path / "work").columns.names[0] == name
