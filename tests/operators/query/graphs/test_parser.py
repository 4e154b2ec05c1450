"""The parser of questions over graphs."""

from dataclasses import replace

import numpy as np
import pytest

from graphwright import Graph
from graphwright.build.imports.assembly import with_statements
from graphwright.models.embedded.amounts import MiniLMAmounts
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import QUERIES, MiniLM
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.graphs.generation import COUNT, EXISTS, LARGEST, THINGS
from graphwright.operators.query.graphs.parser import (
    FEATURES,
    READ_CANDIDATES,
    GraphQueryParser,
    Reading,
    likeliest,
)
from graphwright.operators.query.graphs.scorer import WEIGHTS, read_scorer
from graphwright.operators.query.notation import notation as notation_of
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.query import Count, Exists, Follow
from graphwright.search.facts import Facts

PARSER = GraphQueryParser(MiniLM(), MiniLMCrossEncoder(QUERIES), MiniLMAmounts())
BRIDGES = [
    ("Norsund Bridge", "designed by", "Mira Solberg"),
    ("Norsund Bridge", "crosses", "Ulva"),
    ("Norsund Bridge", "length in metres", "420"),
    ("Norsund Bridge", "opened", "1974"),
    ("Halvik Bridge", "designed by", "Mira Solberg"),
    ("Halvik Bridge", "crosses", "Ulva"),
    ("Halvik Bridge", "length in metres", "310"),
    ("Halvik Bridge", "opened", "1991"),
    ("Tornes Bridge", "designed by", "Jens Aker"),
    ("Tornes Bridge", "crosses", "Rauma"),
    ("Tornes Bridge", "length in metres", "95"),
    ("Mira Solberg", "place of birth", "Bergen"),
    ("Jens Aker", "place of birth", "Oslo"),
]


def reading_of(question, facts):
    scorer = read_scorer(WEIGHTS, FEATURES)
    return Reading.of(question, facts, MiniLM(), scorer.likeness, scorer.heads)


@pytest.fixture(scope="module")
def facts() -> Facts:
    return Facts(Graph.from_triples(BRIDGES).columns)


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("Who designed the Tornes Bridge?", ["Jens Aker"]),
        ("What is the place of birth of Mira Solberg?", ["Bergen"]),
        ("What did Mira Solberg design?", ["Halvik Bridge", "Norsund Bridge"]),
        ("Where was the designer of the Tornes Bridge born?", ["Oslo"]),
    ],
)
def test_parse_a_question_of_one_or_two_steps_gives_its_answers(facts, question, answers):
    best = PARSER.parse(question, facts)[0]
    assert sorted(facts.texts(Execution(facts).result(best.query).tolist())) == answers


def test_parse_orders_queries_and_bounds_probabilities(facts):
    queries = replace(PARSER, limit=7).parse("How long is the Halvik Bridge?", facts)
    assert len(queries) == 7
    probabilities = [q.probability for q in queries[1:]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert all(0 <= q.probability <= 1 for q in queries)
    assert sum(q.probability for q in queries) <= 1 + 1e-6


SHIFTS = [
    ("Vik Light", "keeper", "Anna Rud", {"from": "1901", "to": "1907-10-31"}),
    ("Vik Light", "keeper", "Bo Lie", {"from": "1907-11-01", "to": "1923"}),
    ("Vik Light", "keeper", "Cato Moe", {"from": "1924"}),
    ("Sula Light", "keeper", "Bo Lie", {"from": "1924"}),
    ("Pier 3", "keeper", "Dag Vik", {"from": "1911", "to": "1915"}),
    ("Vik Light", "stands on", "Vik", {}),
    ("Bo Lie", "born", "1880", {}),
    ("Great Storm", "date", "1910-05-02", {}),
]


@pytest.fixture(scope="module")
def shifts() -> Facts:
    columns = Graph.from_triples([shift[:3] for shift in SHIFTS]).columns
    told = {at: [tuple((*field, -1) for field in fields.items())] for at, (*_, fields) in enumerate(SHIFTS) if fields}
    return Facts(with_statements(columns, told))


@pytest.mark.parametrize(
    ("question", "notation"),
    [
        ("Who was the keeper of the Vik Light in 1910?", '"Vik Light".keeper@1910'),
        ("Who was the keeper of the Vik Light in June 1925?", '"Vik Light".keeper@"June 1925"'),
        ("In 1905, who was the keeper of the Vik Light?", '"Vik Light".keeper@1905'),
        ("Who was the keeper of the Vik Light before 1905?", '"Vik Light".keeper@"before 1905"'),
        ("How many keepers did the Vik Light have after 1910?", 'count("Vik Light".keeper@"after 1910")'),
        ("Who was the keeper of Pier 3 in May 1912?", '"Pier 3".keeper@"May 1912"'),
        ("Who was the keeper of the Vik Light before the Great Storm?", '"Vik Light".keeper@"before 1910-05-02"'),
        ("Who was the keeper of the Vik Light before Cato Moe?", '"Vik Light".keeper@1923-12-31'),
        ("Who was keeper of the Vik Light after Anna Rud?", '"Vik Light".keeper@1907-11-01'),
        ("Was Anna Rud the keeper of the Vik Light in 1910?", 'exists("Vik Light".keeper@1910 intersect "Anna Rud")'),
    ],
)
def test_parse_a_date_over_statements_with_dates_gives_what_held_then(shifts, question, notation):
    best, wanted = PARSER.parse(question, shifts)[0], parse_notation(notation)
    result, right = Execution(shifts).result(best.query), Execution(shifts).result(wanted)
    assert "@" in notation_of(best.query)
    assert best.probability > 0.5
    assert result.tolist() == right.tolist() if isinstance(wanted, Follow) else result == right


@pytest.mark.parametrize(
    "question",
    [
        "Who is the current keeper of the Vik Light?",
        "Who keeps the Vik Light nowadays?",
        "Who is the keeper of the Vik Light at the moment?",
    ],
)
def test_parse_a_question_about_now_over_statements_with_dates_gives_what_holds(shifts, question):
    best = PARSER.parse(question, shifts)[0]
    assert notation_of(best.query) == '"Vik Light".keeper@now' and best.probability > 0.5
    assert shifts.texts(Execution(shifts).result(best.query).tolist()) == ["Cato Moe"]


@pytest.mark.parametrize("question", ["Who were the keepers of the Vik Light?", "Who was keeper of the Vik Light?"])
def test_parse_a_question_that_does_not_say_now_has_no_time(shifts, question):
    assert "@" not in notation_of(PARSER.parse(question, shifts)[0].query)


def test_parse_a_date_beside_numbers_of_the_things_gives_what_held_then():
    held = [
        ("Orla Fish", "supplies", "Kai Inn", {"since": "2011", "to": "2015"}),
        ("Mole Farm", "supplies", "Kai Inn", {"since": "2016"}),
    ]
    ids = [(name, "id", str(at)) for at, name in enumerate(("Kai Inn", "Orla Fish", "Mole Farm"), 1)]
    columns = Graph.from_triples([*(each[:3] for each in held), *ids]).columns
    facts = Facts(
        with_statements(
            columns, {at: [tuple((*field, -1) for field in each[3].items())] for at, each in enumerate(held)}
        )
    )
    best = PARSER.parse("Who supplied the Kai Inn in 2018?", facts)[0]
    assert facts.texts(Execution(facts).result(best.query).tolist()) == ["Mole Farm"]


def test_parse_a_date_that_no_statement_has_leaves_queries_without_a_time(shifts):
    queries = PARSER.parse("Who was born in 1880?", shifts)
    assert "@" not in notation_of(queries[0].query)
    assert sum(query.probability for query in queries) <= 1 + 1e-6


def test_parse_over_no_facts_gives_none():
    assert PARSER.parse("Who designed it?", Facts(Graph.from_triples([]).columns)) == []


def test_parse_an_empty_question_gives_none(facts):
    assert PARSER.parse("", facts) == []


def test_candidates_have_each_form_that_the_facts_bear(facts):
    reading = reading_of("Is the Halvik Bridge or Norsund Bridge longer?", facts)
    candidates = reading.candidates()
    assert {COUNT, EXISTS, LARGEST} <= {candidate.form for candidate in candidates}
    assert reading.features(candidates).shape == (len(candidates), len(FEATURES))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which bridges have no designer?", "everything where has opened and has no [designed by]"),
        ("Who designed the longest bridge?", "largest(everything by [length in metres]).[designed by]"),
        ("Who designed Norsund Bridge or Tornes Bridge?",
         '"Norsund Bridge".[designed by] union "Tornes Bridge".[designed by]'),
    ],
)  # fmt: skip
def test_candidates_over_things_without_types_have_what_is_asked(facts, question, text):
    queries = [candidate.query for candidate in reading_of(question, facts).candidates()]
    assert {parse_notation(text)} & set(queries)


def test_candidates_do_not_have_what_has_a_relation_and_lacks_it(facts):
    reading = reading_of("Which bridges have no designer?", facts)
    queries = {candidate.query for candidate in reading.candidates()}
    assert parse_notation("everything where has [designed by] and has no [designed by]") not in queries


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which towns in the North do not border Arne?", '"North".~[part of] except "Arne".borders except "Arne"'),
        ("Who was treasurer in the second board?", '(Treasurer.~office intersect "second board".~board).holder'),
        ("Who had an office but was not from Arne?", 'everything.holder except "Arne".~home'),
    ],
)
def test_candidates_over_event_nodes_and_sets_have_what_is_asked(question, text):
    towns = [("Arne", "North"), ("Brek", "North"), ("Cald", "North"), ("Dorn", "South")]
    triples = [(town, "part of", region) for town, region in towns] + [("Arne", "borders", "Brek")]
    triples += [("Brek", "borders", "Arne"), ("Arne", "borders", "Dorn")]
    terms = [("term 1", "Treasurer", "first board", "Ida"), ("term 2", "Treasurer", "second board", "Otto")]
    for term, office, board, holder in terms:
        triples += [(term, "office", office), (term, "board", board), (term, "holder", holder)]
    triples += [("Ida", "home", "Arne"), ("Otto", "home", "Brek")]
    facts = Facts.of(Graph.from_triples(triples))
    execution, wanted = Execution(facts), Execution(facts).result(parse_notation(text)).tolist()
    made = [candidate.query for candidate in reading_of(question, facts).candidates()]
    assert wanted in [execution.result(query).tolist() for query in made if not isinstance(query, (Count, Exists))]


def test_types_that_are_names_too_are_candidates():
    moons = [("Moon", "Earth", "3474"), ("Titan", "Saturn", "5150")]
    triples = [(name, "is a", "moon") for name, _, _ in moons] + [("Ceres", "is a", "asteroid")]
    triples += [(name, "orbits", planet) for name, planet, _ in moons] + [(n, "diameter", size) for n, _, size in moons]
    reading = reading_of("What is the biggest moon?", Facts.of(Graph.from_triples(triples)))
    assert parse_notation("largest(moon by diameter)") in {candidate.query for candidate in reading.candidates()}


def test_misspelt_word_of_a_relation_is_read_as_that_word(facts):
    for asked, read in (("desigend", "designed"), ("painted", "painted")):
        question = reading_of(f"Who was Norsund Bridge {asked} by?", facts).words.question
        assert question == f"Who was Norsund Bridge {read} by?"


def test_given_types_are_those_that_the_question_asks_for():
    triples = [("Dawn", "is a", "painting"), ("Dawn", "held by", "City Museum"), ("Mask", "is a", "sculpture")]
    triples += [("Mask", "held by", "City Museum"), ("Noon", "is a", "painting"), ("Noon", "held by", "Old House")]
    reading = reading_of("Which paintings does Old House have?", Facts.of(Graph.from_triples(triples)))
    candidates = reading.candidates()
    table = reading.features(candidates)
    at = [candidate.query for candidate in candidates].index(parse_notation('"Old House".~[held by]'))
    given, not_given = (table[at, FEATURES.index(name)] for name in ("given types", "types not given"))
    assert (given, not_given) == (1, 0)


def test_likeliest_has_the_best_of_each_kind(facts):
    reading = reading_of("Is the Halvik Bridge or Norsund Bridge longer?", facts)
    candidates = reading.candidates()
    scores = np.array([100.0 - at if candidate.form == THINGS else 0.0 for at, candidate in enumerate(candidates)])
    chosen = likeliest(candidates, scores)
    assert len(chosen) == READ_CANDIDATES and (np.diff(scores[chosen]) <= 0).all()
    assert {EXISTS, LARGEST} <= {candidates[row].form for row in chosen.tolist()}


def test_parse_over_more_relations_than_are_compared_uses_those_with_most_facts(monkeypatch):
    monkeypatch.setattr("graphwright.operators.query.graphs.steps.MAX_NAMES", 4)
    monkeypatch.setattr("graphwright.operators.query.graphs.likeness.MAX_NAMES", 4)
    rare = [("Ulva", f"relation {number}", f"thing {number}") for number in range(20)]
    facts = Facts(Graph.from_triples([*BRIDGES, *rare, ("Norsund Bridge", "painted in", "red")]).columns)
    assert {"designed by", "crosses", "length in metres"} < set(facts.frequent_relations(4))
    best = PARSER.parse("Who designed the Tornes Bridge?", facts)[0]
    assert facts.texts(Execution(facts).result(best.query).tolist()) == ["Jens Aker"]
    assert PARSER.parse("What is the relation 7 of Ulva?", facts)
