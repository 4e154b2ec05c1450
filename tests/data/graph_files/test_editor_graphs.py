"""GraphML of yEd, Gephi, Cytoscape and networkx."""

from pathlib import Path

import pytest
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
    ],
)
def test_read_property_graph_of_editor_bad_file_is_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        graph_at(tmp_path / name)


@pytest.mark.parametrize("name", ["a.gexf", "a.gml", "a.dot", "a.cypher", "a.cx2", "a.dump", "a.gdf", "a.sif", "a.hdt"])
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
