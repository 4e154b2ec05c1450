"""Property graphs of Neo4j and node-link JSON."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from tests.adapters.graphs import RIVERS, TRIPLES, content

from graphwright import Graph, Index
from graphwright.build.imports.assembly import graph_of
from graphwright.data.graph_files.detect import dump_of
from graphwright.data.graph_files.read_graph import have_properties, is_property_graph, read_property_graph
from graphwright.errors import DataError, OptionError
from graphwright.graph.export import export
from graphwright.models import HashEncoder


def read(*paths):
    found = read_property_graph(paths)
    return graph_of(found.nodes, found.edges)


@pytest.mark.parametrize("form", ["json", "jsonl"])
@given(triples=TRIPLES)
def test_read_property_graph_export_comes_back(form, triples, tmp_path_factory):
    path = tmp_path_factory.mktemp("graphs") / f"graph.{form}"
    for graph in (Graph.from_triples(triples), RIVERS):
        export(graph, path)
        assert content(read(path)) == content(graph)


APOC = [
    {"type": "node", "id": "0", "labels": ["Person"], "properties": {"name": "Ada", "born": 1815, "born2": 10**30}},
    {"type": "node", "id": "1", "labels": ["City", "Capital"], "properties": {"title": "London"}},
    {"type": "node", "id": "2"},
    {"id": "7", "type": "relationship", "label": "BORN_IN", "properties": {"text": "Ada was born in London."}}
    | {"start": {"id": "0", "labels": ["Person"]}, "end": {"id": "1", "labels": ["City"]}},
]


def check_ada(graph):
    assert graph.triple(0) == ("Ada", "BORN_IN", "London")
    assert (graph.text(0), graph.text(1), graph.text(2)) == ("Ada (Person)", "London (City, Capital)", "2")
    assert graph.edge_text(0) == "Ada was born in London."


def test_read_property_graph_json_of_apoc_is_read(tmp_path):
    path = tmp_path / "all.json"
    path.write_text("\n".join(map(json.dumps, APOC)))
    check_ada(read(path))
    path.write_text(json.dumps(APOC))
    check_ada(read(path))
    path.write_text(json.dumps({"nodes": APOC[:3], "rels": APOC[3:]}, indent=1))
    check_ada(read(path))


def test_read_property_graph_json_of_apoc_is_named_and_has_no_vectors(tmp_path):
    path, rows = tmp_path / "all.jsonl", []
    for number, heading in enumerate(["Der Strom", "Die Au"]):
        properties = {"isbn": f"3-{number}", "heading": heading, "embedding": [0.5] * 33, "sizes": [1, 2]}
        rows.append({"type": "node", "id": str(number), "labels": ["Book"], "properties": properties})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_property_graph([path])
    assert [node.name for node in found.nodes] == ["Der Strom", "Die Au"]
    assert found.nodes[0].facts == (("type", "Book"), ("isbn", "3-0"), ("sizes", "1"), ("sizes", "2"))
    assert found.left_out == {"values of embedding, which are vectors or bytes": 2}


def test_read_property_graph_csv_of_apoc_is_read(tmp_path):
    (tmp_path / "all.csv").write_text(
        "_id,_labels,name,title,_start,_end,_type,text\n"
        '"0",":Person","Ada","",,,,\n"1",":City:Capital","","London",,,,\n"2","","","",,,,\n'
        ',,,,"0","1","BORN_IN","Ada was born in London."\n'
    )
    check_ada(read(tmp_path / "all.csv"))


def test_read_property_graph_reads_neo4j_admin_csv(tmp_path):
    people, cities, born = tmp_path / "people.csv", tmp_path / "cities.csv", tmp_path / "born.csv"
    people.write_text("personId:ID(Person),name,born:int,:LABEL\n0,Ada,1815,Person\n2,,,\n")
    cities.write_text(":ID,title:string,:LABEL\n1,London,City;Capital\n")
    born.write_text(":START_ID(Person),text,:END_ID,:TYPE\n0,Ada was born in London.,1,BORN_IN\n")
    graph = read(people, cities, born)
    assert graph.triple(0) == ("Ada", "BORN_IN", "London") and graph.text(2) == "London (City, Capital)"


def test_from_graph_property_graph_keeps_its_texts(tmp_path):
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, APOC)))
    index = Index.from_graph(tmp_path / "index", tmp_path / "all.jsonl", encoder=HashEncoder())
    assert index.graph.passage(0).startswith("Ada (Person). Ada was born in London. Ada type Person. Ada born 1815.")
    found = index.retrieve("capital city", "bm25").passages
    assert index.graph.names[int(found.ids[0])] == "London"
    with pytest.raises(OptionError, match="read as it is"):
        Index.from_graph(tmp_path / "other", tmp_path / "all.jsonl", max_malformed=3)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '{"nodes": [{"id": 1}]', "not JSON"),
        ("a.json", "[" * 100_000, "not JSON"),
        ("a.json", '{"nodes": 3, "links": []}', "holds no graph"),
        ("a.json", '{"nodes": [{"name": "x"}], "links": []}', "node 0 .* object with an id"),
        ("a.json", '{"nodes": [{"id": 1}], "links": [{"source": 1}]}', "edge 0 .* source and target"),
        ("a.json", '{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}', "ends at '2', which is no node"),
        ("a.json", '{"nodes": [{"id": 1}], "links": []}', "there is no edge"),
        ("a.jsonl", '{"type": "node", "id": "0"}\n{"type": "path"}', "line 2 .*expected a node"),
        ("a.csv", ":ID,name\n1,a,b\n", "record 2 has 3 cells"),
        ("a.csv", ":ID,:START_ID,:END_ID\n,,\n", "record 2 has neither"),
    ],
)
def test_read_property_graph_bad_file_is_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize("value", [True, 5, "x", [1, None], {"a": 1}, None])
def test_read_property_graph_values_of_other_types_are_ignored(value, tmp_path):
    rows = [{**row, "labels": value, "properties": value} for row in APOC]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    nodes = [{"id": 1, "metadata": value}, {"id": 2}]
    (tmp_path / "a.json").write_text(json.dumps({"nodes": nodes, "links": [{"source": 1, "target": 2}]}))
    assert read(tmp_path / "a.jsonl").triple(0) == ("0", "BORN_IN", "1")
    assert read(tmp_path / "a.json").triple(0) == ("1", "linked to", "2")


SPACES = {
    "persons.csv": "personId:ID(Person),name,born:int,aliases:string[],secret:IGNORE,:LABEL\n"
    '1,Ada,1961,"Adi;A. S.",x,Person;Chief\n',
    "films.csv": "filmId:ID(Film){label:Film},title,:LABEL\n1,Winter Road,Film\n",
    "acted.csv": ":START_ID(Person),role,:END_ID(Film),:TYPE\n1,Clerk,1,ACTED_IN\n1,,1,DIRECTED\n",
}
FACTS = [
    ("Ada", "ACTED_IN", "Winter Road"), ("Ada", "DIRECTED", "Winter Road"), ("Ada", "type", "Person"),
    ("Ada", "type", "Chief"), ("Ada", "personId", "1"), ("Ada", "born", "1961"), ("Ada", "aliases", "Adi"),
    ("Ada", "aliases", "A. S."), ("Winter Road", "type", "Film"), ("Winter Road", "filmId", "1"),
]  # fmt: skip


@pytest.mark.parametrize("delimiter", [",", "|", "\t"])
@pytest.mark.parametrize("headers_apart", [False, True])
def test_read_property_graph_neo4j_ids_are_unique_in_their_space(delimiter, headers_apart, tmp_path):
    paths = []
    for name, text in SPACES.items():
        header, rows = text.replace(",", delimiter).split("\n", 1)
        parts = {f"{name}-header.csv": header, name: rows} if headers_apart else {name: f"{header}\n{rows}"}
        for part, content_of_part in parts.items():
            (tmp_path / part).write_text(content_of_part)
            paths.append(tmp_path / part)
    graph = read(*paths)
    assert [graph.triple(edge) for edge in graph.edges.tolist()] == FACTS
    assert [graph.edge_text(edge) for edge in (0, 1)] == [
        "Ada ACTED IN Winter Road (role Clerk)",
        "Ada DIRECTED Winter Road",
    ]


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (":ID(P),kode,navn,hæder:string[],:LABEL", "1,NO-1,Ida Moe,a;b,P\n2,NO-2,Bo Li,,Q"),
        ("pid:ID(P),født:date,aktiv:boolean,navn,by,:LABEL", "1,1990-01-01,true,Ida Moe,Oslo,P\n2,,false,Bo Li,Oslo,"),
        ("navn:ID(P),by", "Ida Moe,Oslo\nBo Li,Bergen"),
        ("pid:ID(P),land,navn", "ida,NO,Ida Moe\nbo,DK,Bo Li"),
        ("pid:ID(P),land", "Ida Moe,NO\nBo Li,NO"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_read_property_graph_neo4j_column_that_tells_nodes_apart_names_them(header, rows, suffix, tmp_path):
    first, second = (row.split(",")[0] for row in rows.splitlines())
    knows = f":START_ID(P),:END_ID(P),:TYPE\n{first},{second},KNOWS\n"
    texts = {"header": header, "people": rows, "knows": knows}
    for name, text in texts.items():
        (tmp_path / f"{name}.{suffix}").write_text(text.replace(",", "\t") if suffix == "tsv" else text)
    paths = [tmp_path / f"{name}.{suffix}" for name in texts]
    graph = read(*paths)
    assert is_property_graph(paths[0]) and graph.triple(0) == ("Ida Moe", "KNOWS", "Bo Li")
    assert not {":1", "navn"} & {part for edge in graph.edges.tolist() for part in graph.triple(edge)}


def test_read_property_graph_neo4j_without_a_naming_column_keeps_ids(tmp_path):
    rows = ":ID(Order),status,amount:int\n1,open,5\n2,open,6\n"
    (tmp_path / "a.csv").write_text(rows)
    assert [node.name for node in read_property_graph([tmp_path / "a.csv"]).nodes] == ["Order:1", "Order:2"]


def test_read_property_graph_neo4j_data_without_header_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("7,Cy\n")
    (tmp_path / "b.csv").write_text(":ID,name\n7,Cy\n")
    for paths in (["a.csv", "b.csv"], ["b.csv", "a.csv"]):
        with pytest.raises(DataError, match=r"a\.csv: its first line has neither :ID"):
            read(*(tmp_path / path for path in paths))


def test_read_property_graph_neo4j_relationships_alone_keep_properties(tmp_path):
    (tmp_path / "a.csv").write_text(":START_ID,since,:END_ID,:TYPE\nIda,2019,Mur,KNOWS\n")
    graph = read(tmp_path / "a.csv")
    assert graph.triple(0) == ("Ida", "KNOWS", "Mur") and graph.edge_text(0) == "Ida KNOWS Mur (since 2019)"


def test_read_property_graph_cytoscape_elements_are_read(tmp_path):
    nodes = [{"data": {"id": "1", "SUID": 1, "shared_name": "GAL4", "name": "GAL4", "score": 2, "tags": ["a", "b"]}}]
    edges = [
        {"data": {"id": "3", "SUID": 3, "source": "1", "target": "1", "interaction": "binds", "name": "GAL4 (binds)"}}
    ]
    (tmp_path / "a.json").write_text(json.dumps({"elements": {"nodes": nodes, "edges": edges}}))
    graph = read(tmp_path / "a.json")
    assert [graph.triple(edge)[1:] for edge in graph.edges.tolist()] == [
        ("binds", "GAL4"), ("score", "2"), ("tags", "a"), ("tags", "b"),
    ]  # fmt: skip
    assert graph.edge_text(0) == "GAL4 binds GAL4"


NODES = [{"id": "a", "label": "Ada", "group": 3}, {"id": "b", "label": "Bo"}]
KNOWS = {"source": "a", "target": "b", "label": "knows", "since": 2004}


@pytest.mark.parametrize(
    "value",
    [
        {"nodes": NODES, "edges": [{"from": "a", "to": "b", "label": "knows", "since": 2004}]},  # vis.js
        {"nodes": [{"label": "Ada", "group": 3}, {"label": "Bo"}], "links": [KNOWS | {"source": 0, "target": 1}]},  # d3
        {
            "nodes": [{"key": row["id"], "attributes": row} for row in NODES],
            "edges": [{"source": "a", "target": "b", "attributes": {"label": "knows", "since": 2004}}],
        },  # sigma.js
        [{"data": row} for row in (*NODES, KNOWS)],
        {"elements": [{"group": "nodes", "data": row} for row in NODES] + [{"group": "edges", "data": KNOWS}]},
    ],
)
def test_read_property_graph_json_of_other_programs_gives_same(tmp_path, value):
    (tmp_path / "a.json").write_text(json.dumps(value))
    graph = read(tmp_path / "a.json")
    assert {graph.triple(edge) for edge in graph.edges.tolist()} == {("Ada", "knows", "Bo"), ("Ada", "group", "3")}
    assert graph.edge_text(0) == "Ada knows Bo (since 2004)"


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_read_property_graph_tables_of_gephi_are_joined(tmp_path, mark):
    (tmp_path / "nodes.csv").write_text("Id,Label,founded\n1,Lindhof,1874\n2,Marta,\n".replace(",", mark))
    edges = "Source,Target,Type,Id,Label,Weight\n2,1,Directed,0,owns,1.0\n".replace(",", mark)
    (tmp_path / "edges.csv").write_text(edges)
    graph = read(tmp_path / "nodes.csv", tmp_path / "edges.csv")
    assert [graph.triple(edge) for edge in graph.edges.tolist()] == [
        ("Marta", "owns", "Lindhof"), ("Lindhof", "founded", "1874"),
    ]  # fmt: skip


def test_import_json_ld_in_a_file_of_json_is_rdf(tmp_path):
    value = {"@context": {"@vocab": "http://schema.org/"}, "@id": "#a", "name": "Ada", "knows": {"@id": "#b"}}
    (tmp_path / "a.json").write_text(json.dumps(value))
    assert not is_property_graph(tmp_path / "a.json")
    index = Index.from_graph(tmp_path / "index", dump_of(tmp_path / "a.json"), encoder=HashEncoder())
    assert index.graph.triple(0)[:2] == ("Ada", "knows")


def test_read_property_graph_table_of_triples_keeps_further_columns_as_fields(tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    path.write_text(
        "from,to,type,minutes,line\nKiel,Hamburg,connects,72,RE 7\nKiel,Husum,connects,,RB 64\nKiel,,x,1,y\n"
    )
    assert have_properties([path])
    read = read_property_graph([path])
    assert [edge.fields for edge in read.edges] == [(("minutes", "72"), ("line", "RE 7")), (("line", "RB 64"),)]
    assert sum(read.left_out.values()) == 1


@pytest.mark.parametrize("header", ["head,relation,tail", "from,to", "name,born,city", "a,b,c,d"])
def test_have_properties_table_without_further_columns_is_false(tmp_path: Path, header: str) -> None:
    path = tmp_path / "triples.csv"
    path.write_text(f"{header}\n{','.join('xyzw'[: header.count(',') + 1])}\n")
    assert not have_properties([path])


def test_read_property_graph_tinkerpop_labels_are_types_and_relations(tmp_path: Path) -> None:
    (tmp_path / "g.graphml").write_text(
        '<graphml><key id="labelV" for="node" attr.name="labelV"/><key id="labelE" for="edge" attr.name="labelE"/>'
        '<key id="name" for="node" attr.name="name"/><graph edgedefault="directed">'
        '<node id="1"><data key="labelV">person</data><data key="name">Olav Brekke</data></node>'
        '<node id="2"><data key="labelV">choir</data><data key="name">Fjord Choir</data></node>'
        '<edge id="3" source="1" target="2"><data key="labelE">conducts</data></edge></graph></graphml>'
    )
    graph = read_property_graph([tmp_path / "g.graphml"])
    assert [(node.name, node.facts) for node in graph.nodes] == [
        ("Olav Brekke", (("type", "person"),)),
        ("Fjord Choir", (("type", "choir"),)),
    ]
    assert [(edge.relation, edge.fields) for edge in graph.edges] == [("conducts", ())]


def test_read_property_graph_attribute_of_any_name_names_nodes_and_relations(tmp_path: Path) -> None:
    igraph = pytest.importorskip("igraph")
    given = igraph.Graph([(0, 1), (1, 2)], directed=True)
    given.vs["titel"] = ["Alte Mühle", "Markt", "Kai"]
    given.es["art"] = ["führt zu", "liegt an"]
    given.es["gezählt"] = [4.0, 9.0]
    given.write_graphml(str(tmp_path / "g.graphml"))
    graph = read_property_graph([tmp_path / "g.graphml"])
    assert [node.name for node in graph.nodes] == ["Alte Mühle", "Markt", "Kai"]
    assert [edge.relation for edge in graph.edges] == ["führt zu", "liegt an"]
    assert [dict(edge.fields).keys() for edge in graph.edges] == [{"gezählt"}, {"gezählt"}]


def test_read_property_graph_ids_that_are_names_are_kept(tmp_path: Path) -> None:
    nodes = [{"id": "otter", "habitat": "River Lea"}, {"id": "eel", "habitat": "Salt Marsh"}]
    (tmp_path / "g.json").write_text(json.dumps({"nodes": nodes, "links": [{"source": "otter", "target": "eel"}]}))
    assert [node.name for node in read_property_graph([tmp_path / "g.json"]).nodes] == ["otter", "eel"]


@pytest.mark.parametrize(("delimiter", "mark"), [(",", ";"), (",", "|"), (";", "|")])
def test_read_property_graph_neo4j_lists_are_divided(delimiter: str, mark: str, tmp_path: Path) -> None:
    rows = [["id:ID", "name", "aliases:string[]", ":LABEL"], ["1", "Tarn", mark.join(["Cold Well", "Ann's"]), "Spring"]]
    (tmp_path / "n.csv").write_text("".join(delimiter.join(row) + "\n" for row in rows))
    [node] = read_property_graph([tmp_path / "n.csv"]).nodes
    assert [value for name, value in node.facts if name == "aliases"] == ["Cold Well", "Ann's"]
