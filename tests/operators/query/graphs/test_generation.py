"""Steps and paths along the relations that exist."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Graph
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.graphs.generation import paths_of
from graphwright.operators.query.graphs.matching import Words, mentions_of
from graphwright.operators.query.graphs.steps import StepIndex
from graphwright.operators.query.query import Except, Follow, Named, Step
from graphwright.search.facts import Facts

TRIPLES = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["likes", "knows", "owes"]), st.sampled_from("abcdef")),
    min_size=1,
    max_size=25,
)


@given(TRIPLES)
def test_expand_agrees_with_execution(triples):
    facts = Facts(Graph.from_triples(triples).columns)
    index, execution = StepIndex.of(facts), Execution(facts)
    for thing in range(len(facts)):
        found = {index.step(key): ends.tolist() for key, ends, _ in index.expand(np.array([thing]))}
        for relation in facts.relations:
            for step in (Step(relation), Step(relation, True)):
                ends = execution.things(Follow(Named(facts.text(thing)), step)).tolist()
                assert found.get(step, []) == ends


@given(TRIPLES)
def test_paths_of_a_mention_end_where_their_queries_do(triples):
    facts = Facts(Graph.from_triples(triples).columns)
    index, execution = StepIndex.of(facts), Execution(facts)
    mentions = mentions_of(Words.of(facts.text(0).upper() + "?"), facts)
    for path in paths_of(mentions, index, [np.zeros(3, np.float32)] * len(mentions), 2):
        assert path.ends.tolist() == execution.things(path.query(index)).tolist()
        assert path.size == len(path.ends)


def test_paths_back_along_the_first_relation_leave_out_the_start():
    facts = Facts(Graph.from_triples([("Anna", "father", "Otto"), ("Bert", "father", "Otto")]).columns)
    index, mentions = StepIndex.of(facts), mentions_of(Words.of("Who are siblings of Anna?"), facts)
    (path,) = (p for p in paths_of(mentions, index, [np.zeros(1, np.float32)], 2) if len(p.keys) == 2)
    assert isinstance(path.query(index), Except)
    assert facts.texts(path.ends.tolist()) == ["Bert"]


def test_kinds_of_a_step_to_dates_are_dates():
    facts = Facts(Graph.from_triples([("Anna", "born", "1990-05-01"), ("Bert", "born", "1991-07-02")]).columns)
    assert StepIndex.of(facts).kinds(0, facts).tolist() == [0.0, 1.0, 0.0]
    assert StepIndex.of(facts).kinds(1, facts).tolist() == [1.0, 0.0, 0.0]
