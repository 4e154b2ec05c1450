"""GraphML of yEd, Gephi, Cytoscape and networkx; GEXF; GML."""

from pathlib import Path

import pytest
from hypothesis import given
from tests.adapters.graphs import TRIPLES
from tests.cli.command import graphwright

from graphwright import Graph, Index
from graphwright.build.imports.assembly import graph_of
from graphwright.data.graph_files.detect import dump_of
from graphwright.data.graph_files.read_graph import is_property_graph, read_property_graph
from graphwright.errors import DataError
from graphwright.graph.export import export
from graphwright.search.facts import Facts

KEYS = """<key id="k" for="node" attr.name="label"/><key id="f" for="node" attr.name="Founded" attr.type="int"/>
<key id="r" for="node" attr.name="r" attr.type="int"/><key id="size" for="node" attr.name="size" attr.type="float"/>
<key id="e" for="edge" attr.name="Edge Label"/><key id="w" for="edge" attr.name="weight" attr.type="double"/>"""
YED = """<key for="node" id="d6" yfiles.type="nodegraphics"/><key for="edge" id="d10" yfiles.type="edgegraphics"/>
<key for="node" id="d5" attr.name="description"/>
<graph edgedefault="directed"><node id="n0"><data key="d5"><![CDATA[Pumps it up.]]></data><data key="d6"><y:ShapeNode>
<y:Geometry height="3"/><y:NodeLabel>Pump\n House<y:LabelModel/></y:NodeLabel></y:ShapeNode></data></node>
<node id="n1" yfiles.foldertype="group"><data key="d6"><y:ProxyAutoBoundsNode><y:Realizers active="0"><y:GroupNode>
<y:NodeLabel>Valley Plant</y:NodeLabel></y:GroupNode><y:GroupNode><y:NodeLabel>Folder 1</y:NodeLabel></y:GroupNode>
</y:Realizers></y:ProxyAutoBoundsNode></data><graph id="n1:"><node id="n1::n0"><data key="d6"><y:ShapeNode><y:NodeLabel>
Turbine Hall</y:NodeLabel></y:ShapeNode></data></node></graph></node><hyperedge/>
<edge source="n0" target="n1::n0"><data key="d10"><y:PolyLineEdge><y:EdgeLabel>feeds</y:EdgeLabel></y:PolyLineEdge>
</data></edge></graph>"""
CYTOSCAPE = """<key attr.name="SUID" for="node" id="SUID"/><key attr.name="shared name" for="node" id="shared_name"/>
<key attr.name="name" for="node" id="name"/><key attr.name="name" for="edge" id="ename"/>
<key attr.name="interaction" for="edge" id="i"/><key attr.name="score" for="edge" id="s"/>
<graph><node id="1"><data key="SUID">1</data><data key="shared_name">GAL4</data><data key="name">GAL4</data></node>
<node id="2"><data key="name">GAL80</data></node>
<edge source="2" target="1"><data key="ename">GAL80 (inhibits) GAL4</data>
<data key="i">inhibits</data><data key="s">0.8</data></edge></graph>"""


def graph_at(*paths: Path) -> Graph:
    read = read_property_graph(paths)
    return graph_of(read.nodes, read.edges)


def triples_of(graph: Graph) -> list[tuple[str, str, str]]:
    return [graph.triple(edge) for edge in graph.edges.tolist()]


def graphml(folder: Path, body: str) -> Path:
    path = folder / "a.graphml"
    path.write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">'
        f"{body}</graphml>"
    )
    return path


def test_read_graphml_of_yed_has_labels_groups_and_counts_the_rest(tmp_path):
    path = graphml(tmp_path, YED)
    graph = graph_at(path)
    assert triples_of(graph) == [("Turbine Hall", "part of", "Valley Plant"), ("Pump House", "feeds", "Turbine Hall")]
    assert graph.text(0) == "Pump House: Pumps it up."
    assert read_property_graph([path]).left_out == {"hyperedges of a.graphml": 1}


def test_read_graphml_of_gephi_has_attributes_without_layout(tmp_path):
    data = '<data key="f">1874</data><data key="r">20</data><data key="size">9</data>'
    nodes = f'<node id="7"><data key="k">Lindhof</data>{data}</node>'
    edges = '<edge source="8" target="7"><data key="e">owns</data><data key="w">{}</data></edge>'
    graph = graph_at(graphml(tmp_path, f"{KEYS}<graph>{nodes}{edges.format('1.0')}{edges.format('2.5')}</graph>"))
    assert triples_of(graph) == [("8", "owns", "Lindhof")] * 2 + [("Lindhof", "Founded", "1874")]
    assert [graph.edge_text(edge) for edge in (0, 1)] == ["8 owns Lindhof", "8 owns Lindhof (weight 2.5)"]


def test_read_graphml_of_cytoscape_relation_is_interaction(tmp_path):
    graph = graph_at(graphml(tmp_path, CYTOSCAPE))
    assert triples_of(graph) == [("GAL80", "inhibits", "GAL4")]
    assert graph.edge_text(0) == "GAL80 inhibits GAL4 (score 0.8)"


def test_read_graphml_defaults_of_keys_are_used(tmp_path):
    key = '<key id="r" for="edge" attr.name="relation"><default>supplies</default></key>'
    other = '<key id="c" for="node" attr.name="country"><default>AT</default></key>'
    edge = '<edge source="a" target="b"{}</edge>'
    edges = edge.format(">") + edge.format('><data key="r">owns</data>')
    graph = graph_at(graphml(tmp_path, f'{key}{other}<graph><node id="a"/><node id="b"/>{edges}</graph>'))
    assert triples_of(graph) == [
        ("a", "supplies", "b"), ("a", "owns", "b"), ("a", "country", "AT"), ("b", "country", "AT"),
    ]  # fmt: skip


def test_read_graphml_of_networkx_names_nodes(tmp_path):
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_node(0, name="Graz", size=3)
    graph.add_node(1, name="Mur")
    graph.add_edge(0, 1, relation="lies on")
    graph.add_edge(1, 2)
    nx.write_graphml(graph, tmp_path / "kb.graphml")
    expected = [("Graz", "lies on", "Mur"), ("Mur", "linked to", "2"), ("Graz", "size", "3")]
    assert triples_of(graph_at(tmp_path / "kb.graphml")) == expected


@pytest.mark.parametrize("writer", ["write_gexf", "write_gml"])
@given(triples=TRIPLES)
def test_read_property_graph_networkx_comes_back(writer, triples, tmp_path_factory):
    import networkx as nx

    nodes = list(dict.fromkeys(end for head, _, tail in triples for end in (head, tail)))
    graph = nx.MultiDiGraph()
    for number, name in enumerate(nodes):
        graph.add_node(number, **{"label": name} if writer == "write_gexf" else {"name": name})
    for head, relation, tail in triples:
        graph.add_edge(nodes.index(head), nodes.index(tail), relation=relation)
    path = tmp_path_factory.mktemp("graphs") / f"a.{writer[6:]}"
    getattr(nx, writer)(graph, path)
    expected = [tuple(" ".join(part.split()) for part in triple) for triple in triples]
    found = [tuple(" ".join(part.split()) for part in triple) for triple in triples_of(graph_at(path))]
    assert sorted(triple for triple in found if triple in expected) == sorted(expected)


def test_read_gexf_has_attributes_times_and_hierarchy(tmp_path):
    path = tmp_path / "a.gexf"
    path.write_text("""<gexf xmlns="http://gexf.net/1.3" version="1.3"><graph defaultedgetype="directed">
<attributes class="node"><attribute id="0" title="founded" type="integer"/>
<attribute id="1" title="country" type="string"><default>AT</default></attribute></attributes>
<attributes class="edge"><attribute id="0" title="share" type="float"/></attributes>
<nodes><node id="0" label="Lindhof"><attvalues><attvalue for="0" value="1874"/></attvalues></node>
<node id="1" label="Marta" start="1990"><attvalues><attvalue for="1" value="DE"/></attvalues>
<nodes><node id="2" label="Left hand"/></nodes></node></nodes>
<edges><edge id="0" source="1" target="0" label="owns" start="2010" weight="1.0"><attvalues>
<attvalue for="0" value="0.5"/></attvalues></edge>
<edge id="1" source="0" target="1" kind="employs"/></edges></graph></gexf>""")
    graph = graph_at(path)
    assert triples_of(graph) == [
        ("Left hand", "part of", "Marta"), ("Marta", "owns", "Lindhof"), ("Lindhof", "employs", "Marta"),
        ("Lindhof", "country", "AT"), ("Lindhof", "founded", "1874"), ("Left hand", "country", "AT"),
        ("Marta", "country", "DE"), ("Marta", "start", "1990"),
    ]  # fmt: skip
    assert graph.edge_text(1) == "Marta owns Lindhof (start 2010, share 0.5)"


def test_read_gml_has_names_attributes_and_entities(tmp_path):
    path = tmp_path / "a.gml"
    path.write_text(
        '# made by hand\ngraph [\n directed 1\n node [ id 0 label "Lindhof &#38; S&#246;hne" founded 1874\n'
        ' graphics [ x 1.0 fill "#FFF" ] ]\n node [ id 1 label "Marta [sen.]" ]\n'
        ' edge [ source 1 target 0 label "owns" share 0.5 ]\n]\n'
    )
    graph = graph_at(path)
    assert triples_of(graph) == [("Marta [sen.]", "owns", "Lindhof & Söhne"), ("Lindhof & Söhne", "founded", "1874")]
    assert graph.edge_text(0) == "Marta [sen.] owns Lindhof & Söhne (share 0.5)"


def test_statement_of_edge_is_a_record_that_facts_find(tmp_path):
    graph = graph_at(graphml(tmp_path, CYTOSCAPE))
    facts = Facts(graph.columns)
    statements = facts.of_type("statement")
    assert [facts.text(int(thing)) for thing in facts.relation("score").objects] == ["0.8"]
    assert facts.relation("subject").subjects.tolist() == statements.tolist()
    assert facts.texts(facts.relation("object").objects.tolist()) == ["GAL4"] and len(statements) == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.graphml", "<graphml><graph>", "not GraphML that can be read to its end"),
        ("a.graphml", "<html></html>", "not GraphML"),
        ("a.graphml", "no xml", "GraphML"),
        *(("a.graphml", f'<?xml version="1.0" encoding="{e}"?><graphml/>', "GraphML") for e in ("none", "utf-7")),
        ("a.gexf", "<graphml></graphml>", "not GEXF"),
        ("a.gexf", "<gexf><graph>", "not GEXF that can be read"),
        ("a.gexf", "<gexf><graph/></gexf>", "there is no edge"),
        ("a.gml", "graph [ node [ id 1 ]", "bracket is not closed"),
        ("a.gml", "graph [ ]\n]", "line 2: not GML; a bracket is closed"),
        ("a.gml", 'graph [ node [ id 1 label "x ] ]', "quotation mark"),
        ("a.gml", "graph [ node [ label 1 ] ]", "node 0 has no id"),
        ("a.gml", "graph [ node [ id 1 ] edge [ source 1 ] ]", "edge 0 has no source or no target"),
        ("a.gml", "nothing", "has no graph"),
    ],
)
def test_read_property_graph_of_editor_bad_file_is_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        graph_at(tmp_path / name)


@pytest.mark.parametrize("name", ["a.dot", "a.cypher", "a.net", "a.cx2", "a.dump", "a.gdf", "a.sif", "a.hdt"])
def test_dump_of_format_without_reader_names_the_way(tmp_path, name):
    (tmp_path / name).write_text("x")
    assert not is_property_graph(tmp_path / name)
    with pytest.raises(DataError, match=r"cannot be read.*GraphML"):
        dump_of(tmp_path / name)


def test_export_of_part_of_graph_comes_back_without_its_ids(tmp_path):
    export(Graph.from_triples([("Mur", "flows through", "Graz")]), tmp_path / "a.graphml")
    assert triples_of(graph_at(tmp_path / "a.graphml")) == [("Mur", "flows through", "Graz")]


def test_import_command_keeps_statements_and_names_what_is_left_out(tmp_path):
    path = graphml(tmp_path, CYTOSCAPE.replace("</graph>", "<hyperedge/></graph>"))
    done = graphwright("import", path, "--into", tmp_path / "index", "--embed", "none")
    assert done.returncode == 0 and "left out: 1 hyperedges of a.graphml" in done.stderr, done.stderr
    index = Index.open(tmp_path / "index")
    assert index.info()["imported"]["left_out"] == {"hyperedges of a.graphml": 1}
    facts = Facts(index.graph.columns)
    assert facts.texts(facts.relation("score").objects.tolist()) == ["0.8"]
    assert index.graph.edge_text(0) == "GAL80 inhibits GAL4 (score 0.8)"


def test_read_gexf_attribute_outside_of_a_graph_is_no_crash(tmp_path):
    path = tmp_path / "cut.gexf"
    path.write_text('<attribute id="0" title="year"><default>1</default></attribute>\n<nodes/>', encoding="utf-8")
    with pytest.raises(DataError, match=r"cut\.gexf"):
        read_property_graph([path])


def test_read_graphml_labels_of_neo4j_are_types(tmp_path):
    path = graphml(
        tmp_path,
        '<key id="n" for="node" attr.name="name"/><key id="labels" for="node" attr.name="labels"/>'
        '<key id="label" for="edge" attr.name="label"/><graph><node id="n0" labels=":Person:Pilot">'
        '<data key="labels">:Person:Pilot</data><data key="n">Ada</data></node><node id="n1"><data key="n">Bo</data>'
        '</node><edge source="n0" target="n1" label="KNOWS"><data key="label">KNOWS</data></edge></graph>',
    )
    assert triples_of(graph_at(path)) == [
        ("Ada", "KNOWS", "Bo"), ("Ada", "type", "Person"), ("Ada", "type", "Pilot"),
    ]  # fmt: skip


def test_read_graphml_labels_in_html_and_of_yed_live_are_names(tmp_path):
    label = "&lt;html&gt;&lt;b&gt;Pump&lt;/b&gt; House&lt;/html&gt;"
    path = graphml(
        tmp_path,
        '<key for="node" id="d6" yfiles.type="nodegraphics"/><key id="d1" for="node" attr.name="NodeLabels"/><graph>'
        f'<node id="a"><data key="d6"><y:ShapeNode><y:NodeLabel>{label}</y:NodeLabel></y:ShapeNode></data></node>'
        '<node id="b"><data key="d1"><y:Label><y:Label.Text>Tank</y:Label.Text></y:Label></data></node>'
        '<edge source="a" target="b"/></graph>',
    )
    assert triples_of(graph_at(path)) == [("Pump House", "linked to", "Tank")]


def test_read_gml_groups_of_yed_are_relations(tmp_path):
    path = tmp_path / "a.gml"
    path.write_text(
        'graph [ node [ id 0 label "Plant" isGroup 1 ] node [ id 1 label "Hall" gid 0 ] edge [ source 1 target 0 ] ]'
    )
    assert set(triples_of(graph_at(path))) == {("Hall", "part of", "Plant"), ("Hall", "linked to", "Plant")}
