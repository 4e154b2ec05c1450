"""RDF in and out: Turtle, TriG, N-Quads, RDF/XML and JSON-LD."""

import time
from io import BytesIO

import pytest
from hypothesis import given, settings
from tests.adapters.graphs import RIVERS, TRIPLES
from tests.cli.command import graphwright

from graphwright import Graph, Index
from graphwright.build.imports.graph_import import import_graph
from graphwright.data.graph_files.detect import dump_of
from graphwright.data.graph_files.rdf import ShallowXML
from graphwright.errors import DataError, OptionError
from graphwright.graph.export import export
from graphwright.models import HashEncoder

pyoxigraph = pytest.importorskip("pyoxigraph")

PREFIXES = """@prefix : <http://x.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
TURTLE = f"""{PREFIXES}
:q1 rdfs:label "Graz"@en, "Gradec"@sl ; :lies_on :Mur ; :population 292630 , "291007"^^xsd:integer ;
    :motto "Grün \\"und\\" weiß"@de .
:Mur :mouth [ :in :Croatia ] .
"""
JSON_LD = """{"@context": {"lies_on": {"@id": "http://x.org/lies_on", "@type": "@id"},
  "name": "http://www.w3.org/2000/01/rdf-schema#label"},
  "@id": "http://x.org/q1", "name": "Graz", "lies_on": "http://x.org/Mur"}"""
RDF_XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x.org/">
<rdf:Description rdf:about="http://x.org/Graz"><x:lies_on rdf:resource="http://x.org/Mur"/></rdf:Description>
</rdf:RDF>"""
TRIG = f"""{PREFIXES}
:Graz :lies_on :Mur .
:old {{ :Graz :lies_on :Mur . :Graz :ruled_by :Habsburg . }}
:new {{ :Graz :ruled_by :nobody . }}
"""


def triples(folder, name, text, **options):
    (folder / name).write_text(text, encoding="utf-8")
    imported = import_graph([dump_of(folder / name, **options)], folder / f"scratch-{name}-{len(options)}")
    graph = Graph(imported.columns)
    return [graph.triple(edge) for edge in range(len(graph.edges))], imported


def test_rdf_turtle_labels_and_blank_nodes_are_read(tmp_path):
    found, imported = triples(tmp_path, "graz.ttl", TURTLE)
    assert found[:4] == [
        ("Graz", "lies on", "Mur"),
        ("Graz", "population", "292630"),
        ("Graz", "population", "291007"),
        ("Graz", "motto", 'Grün "und" weiß'),
    ]
    (blank,) = {tail for _, relation, tail in found if relation == "mouth"}
    assert blank.startswith("_:") and (blank, "in", "Croatia") in found
    assert imported.labels == {0: ["Gradec"]} and imported.malformed == 0


def test_rdf_titles_and_names_of_cards_name_nodes(tmp_path):
    book, person = "<http://e.org/book/9>", "<http://e.org/p/3>"
    found, _ = triples(
        tmp_path, "b.nt",
        f'{book} <http://purl.org/dc/terms/title> "Salt Maps"@en .\n{book} <http://e.org/by> {person} .\n'
        f'{person} <http://www.w3.org/2006/vcard/ns#fn> "Lena Orr" .\n',
    )  # fmt: skip
    assert found == [("Salt Maps", "by", "Lena Orr")]


@pytest.mark.parametrize(("name", "text"), [("a.jsonld", JSON_LD), ("a.rdf", RDF_XML)])
def test_rdf_other_syntaxes_are_read(tmp_path, name, text):
    assert triples(tmp_path, name, text)[0] == [("Graz", "lies on", "Mur")]


def test_rdf_named_graph_can_be_chosen(tmp_path):
    ruled = ("Graz", "ruled by", "Habsburg")
    assert triples(tmp_path, "a.trig", TRIG)[0].count(("Graz", "lies on", "Mur")) == 2
    assert triples(tmp_path, "a.trig", TRIG, named_graph="http://x.org/old")[0] == [("Graz", "lies on", "Mur"), ruled]
    (tmp_path / "b").mkdir()
    assert triples(tmp_path / "b", "a.trig", TRIG, named_graph="")[0] == [("Graz", "lies on", "Mur")]
    (tmp_path / "c").mkdir()
    with pytest.raises(
        DataError, match=r"no statement in the graph 'http://x.org/x'; its graphs are .*http://x.org/new"
    ):
        triples(tmp_path / "c", "a.trig", TRIG, named_graph="http://x.org/x")


def test_rdf_statements_about_statements_are_texts(tmp_path):
    found, imported = triples(tmp_path, "a.ttl", TURTLE + ":q1 :says <<( :Mur :is :long )>> .\n")
    assert imported.malformed == 0 and found[-1] == ("Graz", "says", "Mur is long")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.ttl", PREFIXES + ":a :b\n", "a.ttl is not Turtle|TURTLE that can be read to its end"),
        ("a.ttl", ":a :b :c .", "end"),
        ("a.jsonld", '{"@context": {"a": {"@id": "b"}, "b": {"@id": "a"}}, "a": "x"}', "Cyclic"),
        ("a.jsonld", '{"@context": "https://example.org", "name": "x"}', "remote"),
        ("a.jsonld", '{"@id": "http://x.org/a"', "end"),
        ("a.rdf", RDF_XML[:150], "end"),
        ("a.ttl", "", "there is no triple"),
    ],
)
def test_rdf_bad_file_is_named(tmp_path, name, text, message):
    with pytest.raises(DataError, match=message):
        triples(tmp_path, name, text)


def test_rdf_byte_that_is_not_utf8_is_named(tmp_path):
    (tmp_path / "a.ttl").write_bytes(b'<http://x/a> <http://x/b> "\xff" .')
    with pytest.raises(DataError, match=r"a\.ttl"):
        Index.from_graph(tmp_path / "index", tmp_path / "a.ttl", encoder=HashEncoder())
    assert not (tmp_path / "index").exists()


def test_rdf_options_of_tables_raise(tmp_path):
    (tmp_path / "a.ttl").write_text(TURTLE)
    (tmp_path / "a.nt").write_text("")
    with pytest.raises(OptionError, match="columns"):
        dump_of(tmp_path / "a.ttl", columns=["1", "2", "3"])
    with pytest.raises(OptionError, match="no named graphs"):
        dump_of(tmp_path / "a.nt", named_graph="http://x.org/g")


@pytest.mark.parametrize("form", ["nt", "ttl"])
def test_rdf_export_keeps_nodes_of_one_name_apart(form, tmp_path):
    assert export(RIVERS, tmp_path / f"a.{form}") == (4, 3)  # a statement is made once
    graph = Graph(import_graph([dump_of(tmp_path / f"a.{form}")], tmp_path / "scratch").columns)
    assert sorted(graph.names) == ["Graz", "Graz", "Mur"]  # a node without an edge is in no statement
    assert sorted(graph.triple(edge) for edge in range(3)) == sorted({RIVERS.triple(edge) for edge in range(4)})


@pytest.mark.parametrize("form", ["nt", "ttl"])
@settings(max_examples=5)  # an import takes about a second
@given(found=TRIPLES)
def test_rdf_export_comes_back(form, found, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rdf")
    export(Graph.from_triples(found), folder / f"a.{form}")
    graph = Graph(import_graph([dump_of(folder / f"a.{form}")], folder / "scratch").columns)
    assert sorted(graph.triple(edge) for edge in graph.edges) == sorted(set(found))


def test_rdf_commands_import_and_export_it(tmp_path):
    (tmp_path / "a.trig").write_text(TRIG)
    index = tmp_path / "index"
    graph = ("--named-graph", "http://x.org/old")
    done = graphwright("import", tmp_path / "a.trig", "--into", index, "--embed", "none", *graph)
    assert done.returncode == 0 and "2 triples, 3 nodes" in done.stdout, done.stderr
    for form in ("nt", "csv", "jsonl"):
        to = tmp_path / f"again.{form}"
        assert graphwright("export", "--index", index, "--to", to).returncode == 0
        again = graphwright("import", to, "--into", tmp_path / form, "--embed", "none")
        assert again.returncode == 0 and "2 triples, 3 nodes" in again.stdout, again.stderr


def test_rdf_xml_nested_too_deeply_raises(tmp_path):
    path = tmp_path / "deep.rdf"
    path.write_bytes(b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">' + b"<a>" * 200_000)
    begun = time.process_time()
    with pytest.raises(DataError, match="nested more than 500 levels deep"):
        dump_of(path).to_ntriples(tmp_path)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("hidden", ["<!-- </a> -->", "<![CDATA[</a>]]>", '<b c="</a>"/>', "<?x </a>?>", "<b c='/>'/>"])
def test_shallow_xml_comments_do_not_end_elements(hidden):
    source = ShallowXML(BytesIO(f"<a>{hidden}".encode() * 600))
    with pytest.raises(DataError, match="nested more than 500 levels deep"):
        while source.read(1_000):
            pass


def test_shallow_xml_hostile_tags_take_linear_time():
    for part in (b"<", b'<a="', b"<!--", b"<![CDATA[", b"<a '\"", b"x"):
        begun = time.process_time()
        try:
            source = ShallowXML(BytesIO(part * 500_000))
            while source.read(65_536):
                pass
        except DataError:
            pass
        assert time.process_time() - begun < 2


def test_shallow_xml_siblings_are_not_nested():
    text = b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>" + b"<b c='>'><d/><e></e>text</b>" * 2_000 + b"</a>"
    source = ShallowXML(BytesIO(text))
    assert b"".join(iter(lambda: source.read(7), b"")) == text


def test_rdf_json_ld_nested_too_deeply_raises(tmp_path):
    context = '{"@context": {"@vocab": "http://a/"}, "@id": "http://a/x", "p": "[[{", "q": '
    (tmp_path / "a.jsonld").write_text(context + '{"\\\\\\"": ' * 100_000 + "1" + "}" * 100_001)
    with pytest.raises(DataError, match=r"a.jsonld is not JSON-LD that can be read to its end: .* 500 levels"):
        import_graph([dump_of(tmp_path / "a.jsonld")], tmp_path / "scratch")
    (tmp_path / "a.jsonld").write_text(context + '{"a": ' * 400 + "1" + "}" * 401)
    assert len(import_graph([dump_of(tmp_path / "a.jsonld")], tmp_path / "again").columns.heads) == 402
