"""Unite: order and repeats."""

from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS

from graphwright import Evidence, Unite, start

CLUB = GRAPHS["club"]
PIECE = st.tuples(st.lists(st.integers(0, 33), max_size=4, unique=True), st.lists(st.integers(0, 40), max_size=3))


def united(evidence: Evidence) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    result = Unite()(start("?", CLUB, evidence=evidence)).evidence
    assert result is not None and result.scores is None
    return result.identities()


def test_unite_keeps_first_positions() -> None:
    evidence = Evidence.of_trees(CLUB, [([5, 2], [9]), ([2, 5, 1], [9, 3])], [0.2, 0.9])
    assert united(evidence) == [((2, 5, 1), (9, 3))]


def test_unite_adds_ends_of_triple() -> None:
    assert united(Evidence.of_edges([0])) == [(tuple(CLUB.ends([0]).tolist()), (0,))]


def test_unite_of_nothing_is_empty() -> None:
    assert united(Evidence.of_nodes([])) == []


@given(st.lists(PIECE, max_size=6))
def test_unite_keeps_every_node_and_edge(pieces: list[tuple[list[int], list[int]]]) -> None:
    whole = united(Evidence.of_trees(CLUB, pieces))
    edges = {e for _, some in pieces for e in some}
    assert len(whole) == min(len(pieces), 1)
    assert {e for _, some in whole for e in some} == edges
    record = [v for nodes, _ in whole for v in nodes]
    assert len(record) == len(set(record)) and {v for nodes, _ in pieces for v in nodes} <= set(record)
