"""Statements with fields, lists, class expressions and names of RDF, and the rows of Wikidata."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright import Graph
from graphwright.build.imports.graph_import import ImportedGraph, import_graph
from graphwright.data.graph_files.detect import dump_of
from graphwright.errors import DataError
from graphwright.search.facts import Facts

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
OWL = "http://www.w3.org/2002/07/owl#"
PREFIXES = {
    "": "http://x/", "rdf": RDF, "owl": OWL, "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#", "skos": "http://www.w3.org/2004/02/skos/core#",
    "wd": "http://www.wikidata.org/entity/", "wdt": "http://www.wikidata.org/prop/direct/",
    "p": "http://www.wikidata.org/prop/", "ps": "http://www.wikidata.org/prop/statement/",
    "psv": "http://www.wikidata.org/prop/statement/value/", "pq": "http://www.wikidata.org/prop/qualifier/",
    "pr": "http://www.wikidata.org/prop/reference/", "wikibase": "http://wikiba.se/ontology#",
    "prov": "http://www.w3.org/ns/prov#", "schema": "https://schema.org/",
}  # fmt: skip


def ntriples(text: str) -> str:
    """Return statements with prefixed names as N-Triples."""
    name = re.compile(r"(?<![\w\"<@:/])([a-z]*):([\w#-]+)(?=[ \"]|$|\^|\))", re.MULTILINE)
    expanded = name.sub(lambda m: f"<{PREFIXES[m[1]]}{m[2]}>", text.replace("_:", "\0"))
    expanded = re.sub(r"\^\^xsd:(\w+)", rf"^^<{PREFIXES['xsd']}\1>", expanded).replace("\0", "_:")
    return "".join(f"{line.strip()} .\n" for line in expanded.strip().splitlines())


def imported(folder, text: str, name: str = "a.nt") -> ImportedGraph:
    (folder / name).write_text(ntriples(text) if name.endswith(".nt") else text, encoding="utf-8")
    return import_graph([dump_of(folder / name)], folder / "scratch")


def stated(read: ImportedGraph) -> list[str]:
    """Return the text of each edge."""
    graph = Graph(read.columns)
    return [graph.edge_text(edge) for edge in graph.edges.tolist()]


SINCE = ["Ida worksFor Mur AG (since 2019, source Report)", "Mur AG city Graz"]
KINDS = {
    "quoted": "<< :Ida :worksFor :Mur_AG >> :since \"2019\"\n << :Ida :worksFor :Mur_AG >> :source :Report",
    "reifies": '_:r rdf:reifies <<( :Ida :worksFor :Mur_AG )>>\n _:r :since "2019"\n _:r :source :Report',
    "rdf:Statement": """:st1 rdf:type rdf:Statement\n :st1 rdf:subject :Ida\n :st1 rdf:predicate :worksFor
        :st1 rdf:object :Mur_AG\n :st1 :since "2019"\n :st1 :source :Report""",
    "owl:Axiom": """_:a rdf:type owl:Axiom\n _:a owl:annotatedSource :Ida\n _:a owl:annotatedProperty :worksFor
        _:a owl:annotatedTarget :Mur_AG\n _:a :source :Report\n _:a :since "2019\"""",
    "singleton": """:Ida :worksFor#1 :Mur_AG\n :worksFor#1 rdf:singletonPropertyOf :worksFor\n :worksFor#1 :since "2019"
        :worksFor#1 :source :Report""",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_stated", [True, False])
def test_import_of_statement_has_text_and_record(kind, is_stated, tmp_path):
    plain = ":Ida :worksFor :Mur_AG\n" * is_stated
    read = imported(tmp_path, f'{plain}:Mur_AG :city "Graz"\n{KINDS[kind]}')
    assert sorted(stated(read)) == SINCE and read.malformed == 0 and read.left_out == {}
    facts = Facts(read.columns)
    subject, source = facts.relation("subject"), facts.relation("source")
    assert subject.subjects.tolist() == facts.of_type("statement").tolist() == source.subjects.tolist()
    assert facts.texts(subject.objects.tolist()) == ["Ida"] and subject.objects[0] < facts.first_record
    assert facts.texts(facts.relation("since").objects.tolist()) == ["2019"]


def test_import_of_statements_of_one_triple_are_apart(tmp_path):
    text = "".join(
        f':s{n} rdf:subject :Ida\n:s{n} rdf:predicate :heads\n:s{n} rdf:object :Mur_AG\n:s{n} :start "{year}"\n'
        for n, year in enumerate((2001, 2009))
    )
    read = imported(tmp_path, text)
    assert stated(read) == ["Ida heads Mur AG (start 2001; start 2009)"]
    assert read.columns.records is not None and len(read.columns.records) == 2


def test_import_of_quoted_triple_as_object_is_not_stated(tmp_path):
    read = imported(tmp_path, ":Ida :claims <<( :Earth :shape :flat )>>\n:Ida :in :Graz")
    assert sorted(stated(read)) == ["Ida claims Earth shape flat", "Ida in Graz"]


def test_import_of_nested_quoted_triple_is_text(tmp_path):
    read = imported(tmp_path, '<< << :a :b :c >> :said_by :Ida >> :on "2019"')
    assert stated(read) == ["a b c said by Ida (on 2019)"]


def test_import_of_statements_without_parts_counts_them(tmp_path):
    read = imported(tmp_path, ":s rdf:subject :Ida\n:Ida :in :Graz\n<< :a :b >> :c :d")
    assert stated(read) == ["Ida in Graz"]
    assert read.left_out == {"incomplete statements": 1, "malformed rows with quoted triples": 1}


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(ntriples(KINDS["rdf:Statement"] + '\n:Mur_AG :city "Graz"\n:Ida :in :Graz').splitlines()))
def test_import_of_statement_any_order_of_rows_is_equal(order, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rdf")
    (folder / "a.nt").write_text("\n".join(order))
    read = import_graph([dump_of(folder / "a.nt")], folder / "scratch")
    assert sorted(stated(read)) == sorted([*SINCE, "Ida in Graz"])


def test_import_keeps_the_order_of_triples(tmp_path):
    rows = [f":n{n} :next :n{n + 1}" for n in range(3_000)]
    rows[1_500:1_500] = KINDS["rdf:Statement"].splitlines()
    read = imported(tmp_path, "\n".join(rows))
    assert stated(read) == [*(f"n{n} next n{n + 1}" for n in range(3_000)), SINCE[0]]


WIKIDATA = """
wd:Q1 rdfs:label "Zweigwerk"@de
wd:Q1 rdfs:label "branch works"@en
wd:Q1 rdfs:label "branch works (British)"@en-gb
wd:Q1 skos:altLabel "AWX"@en
wd:Q2 rdfs:label "Henriette Voss"@mul
wd:Q2 rdfs:label "Anriette"@fr
wd:Q3 rdfs:label "Grauburg"@en-gb
wd:Q3 rdfs:label "Abc"@pl
wd:P112 rdfs:label "founded by"@en
wd:P112 rdf:type wikibase:Property
wd:P112 wikibase:directClaim wdt:P112
wd:P112 wikibase:qualifier pq:P112
wd:P580 rdfs:label "start time"@en
wd:P580 wikibase:qualifier pq:P580
wd:P248 rdfs:label "stated in"@en
wd:P19 rdfs:label "place of birth"@en
wd:Q1 wikibase:sitelinks "7"^^xsd:integer
wd:Q1 wdt:P112 wd:Q2
wd:Q1 wdt:P571 "1911-04-01T00:00:00Z"^^xsd:dateTime
wd:Q1 wdt:P1082 "+1240"^^xsd:decimal
wd:Q2 wdt:P19 wd:Q3
"""
QUALIFIED = """
wd:Q1 p:P112 wd:S1
wd:S1 rdf:type wikibase:Statement
wd:S1 wikibase:rank wikibase:NormalRank
wd:S1 ps:P112 wd:Q2
wd:S1 pq:P580 "1911-04-01T00:00:00Z"^^xsd:dateTime
wd:S1 prov:wasDerivedFrom wd:R1
wd:R1 pr:P248 wd:Q3
wd:S1 psv:P112 wd:V1
wd:Q1 p:P112 wd:S2
wd:S2 ps:P112 wd:Q3
wd:S2 wikibase:rank wikibase:DeprecatedRank
"""


def test_import_of_wikidata_names_items_and_relations(tmp_path):
    read = imported(tmp_path, WIKIDATA)
    assert stated(read) == [
        "branch works founded by Henriette Voss", "branch works P571 1911-04-01", "branch works P1082 1240",
        "Henriette Voss place of birth Grauburg",
    ]  # fmt: skip
    assert read.labels[0] == ["AWX", "Zweigwerk", "branch works (British)"]
    assert read.left_out == {"rows of Wikibase about its own data": 2}


@pytest.mark.parametrize("kind", ["", "^^xsd:dateTime"])
def test_import_of_wikidata_dates_without_a_day_are_years_and_months(kind, tmp_path):
    dates = "1786-00-00T00:00:00Z", "+1786-05-00T00:00:00Z", "-0044-00-00T00:00:00Z", "1786-05-20T00:00:00+00:00"
    told = [f'wd:S{n} pq:P580 "{date}"{kind}' for n, date in enumerate(dates, 3)]
    rows = [f'wd:Q4 wdt:P569 "{date}"{kind}' for date in dates]
    read = imported(tmp_path, "\n".join([*rows, *told, 'wd:Q4 :model "1786-00"', 'wd:Q4 :part "1786-00-00"^^xsd:date']))
    tails = [text.split()[-1] for text in stated(read)]
    day = "1786-05-20" if kind else dates[3]
    assert tails == ["1786", "1786-05", "-0044", day, "1786", "1786-05", "-0044", day, "1786-00", "1786"]


def test_import_of_rdf_1_2_version_and_direction_are_read(tmp_path):
    line = '<http://x/Ida> <http://x/says> "salom"@he--rtl'
    for name, end in (("a.nt", "."), ("b.nq", "<http://x/g> .")):
        (tmp_path / name).write_text(f"VERSION \"1.2\"\n{line} {end}\n\tVERSION '1.2-basic' # again\n")
        read = import_graph([dump_of(tmp_path / name)], tmp_path / name[0])
        assert (stated(read), read.malformed) == (["Ida says salom"], 0)


@pytest.mark.parametrize(
    "document",
    ["<https://www.wikidata.org/wiki/Special:EntityData/Q1>", "<http://lexikon.test/w/Spezial%3AEntityData/L7>"],
)
def test_import_of_wikidata_documents_about_entities_are_left_out(document, tmp_path):
    own = "rdf:type schema:Dataset", "schema:about wd:Q2", 'schema:version "1882"^^xsd:integer'
    rows = [*(f"{document} {row}" for row in own), 'wikibase:Dump schema:dateModified "2026-01-05"']
    read = imported(tmp_path, WIKIDATA + "\n".join([*rows, ":report schema:about wd:Q2"]))
    assert len(stated(read)) == 5 and stated(read)[-1] == "report about Henriette Voss"
    assert read.left_out == {"rows of Wikibase about its own data": 6}


def test_import_of_wikidata_statement_has_qualifiers_and_sources(tmp_path):
    read = imported(tmp_path, WIKIDATA + QUALIFIED)
    assert stated(read)[0] == "branch works founded by Henriette Voss (start time 1911-04-01, stated in Grauburg)"
    assert len(stated(read)) == 4
    assert read.left_out == {"rows of Wikibase about its own data": 4, "deprecated statements": 1}


def test_import_of_lists_has_their_members(tmp_path):
    read = imported(
        tmp_path,
        """:Trio :players _:l1\n _:l1 rdf:first :Ida\n _:l1 rdf:rest _:l2\n _:l2 rdf:first :Mads
        _:l2 rdf:rest rdf:nil""",
    )
    assert stated(read) == ["Trio players Ida", "Trio players Mads"]


def test_import_of_owl_restrictions_are_readable_statements(tmp_path):
    read = imported(
        tmp_path,
        """:Cat rdfs:subClassOf _:r1\n _:r1 rdf:type owl:Restriction\n _:r1 owl:onProperty :hasPart
        _:r1 owl:someValuesFrom :Tail\n :hasPart rdfs:label "has part"@en
        :Car owl:equivalentClass _:e\n _:e owl:intersectionOf _:l1\n _:l1 rdf:first :Vehicle\n _:l1 rdf:rest _:l2
        _:l2 rdf:first _:r2\n _:l2 rdf:rest rdf:nil\n _:r2 owl:onProperty :hasWheel\n _:r2 owl:qualifiedCardinality "4"
        _:r2 owl:onClass :Wheel\n :hasWheel rdfs:range _:u\n _:u owl:unionOf _:m1\n _:m1 rdf:first :Wheel
        _:m1 rdf:rest _:m2\n _:m2 rdf:first _:c\n _:m2 rdf:rest rdf:nil\n _:c owl:complementOf :Tail""",
    )
    assert sorted(stated(read)) == [
        "Car subClassOf Vehicle", "Car subClassOf hasWheel exactly 4 Wheel", "Cat has part Tail",
        "hasWheel range Wheel or (not Tail)",
    ]  # fmt: skip


def test_import_of_cyclic_list_ends(tmp_path):
    read = imported(tmp_path, ":a :b _:l\n_:l rdf:first :c\n_:l rdf:rest _:l")
    assert stated(read) == ["a b c"]
    (tmp_path / "again").mkdir()
    read = imported(tmp_path / "again", ":a :b _:l\n_:l rdf:first _:l\n_:l rdf:rest rdf:nil\n:a :b :c")
    assert len(stated(read)) == 2


def test_import_of_parts_alone_raises(tmp_path):
    with pytest.raises(DataError, match="there is no triple"):
        imported(tmp_path, ":s rdf:subject :Ida")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_import_of_schema_org_json_ld_needs_no_context(scheme, tmp_path):
    pytest.importorskip("pyoxigraph")
    text = f"""{{"@context": "{scheme}://schema.org/", "@type": "Organization", "name": "Lindhof",
      "alternateName": "LB", "founder": {{"@type": "Person", "name": "Marta"}}, "foundingDate": "1874"}}"""
    read = imported(tmp_path, text, "a.jsonld")
    assert sorted(stated(read)) == [
        "Lindhof founder Marta", "Lindhof foundingDate 1874", "Lindhof type Organization", "Marta type Person",
    ]  # fmt: skip


def test_import_of_turtle_annotations_are_fields(tmp_path):
    pytest.importorskip("pyoxigraph")
    text = "@prefix : <http://x/> . :Ida :worksFor :Mur_AG {| :since 2019 ; :source :Report |} . :Mur_AG :city 'Graz' ."
    assert stated(imported(tmp_path, text, "a.ttl")) == SINCE


@pytest.mark.parametrize("label", ["", ':Graz rdfs:label "Graz (Stadt)"@de\n'])
def test_import_of_redirect_is_a_name_of_its_target(label, tmp_path):
    redirects = "<http://dbpedia.org/ontology/wikiPageRedirects>"
    text = (
        ntriples(f"{label}:Graz :liesOn :Mur")
        + f"<{PREFIXES['']}City_of_Gr%C3%A4tz> {redirects} <{PREFIXES['']}Graz> .\n"
    )
    (tmp_path / "a.nt").write_text(text, encoding="utf-8")
    read = import_graph([dump_of(tmp_path / "a.nt")], tmp_path / "scratch")
    assert stated(read) == [f"{'Graz (Stadt)' if label else 'Graz'} liesOn Mur"]
    assert read.labels == {0: ["City of Grätz"]} and read.files == [tmp_path / "a.nt"]
