"""Unite: order, repeats, pieces that stay apart."""

from hypothesis import given
from hypothesis import strategies as st
from tests.toys import GRAPHS

from graphwright import Evidence, Unite, start

CLUB = GRAPHS["club"]
PIECE = st.tuples(st.lists(st.integers(0, 33), max_size=4, unique=True), st.lists(st.integers(0, 40), max_size=3))


def united(evidence: Evidence, apart: bool = False) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    found = Unite(apart)(start("?", CLUB, evidence=evidence)).evidence
    assert found is not None and found.scores is None
    return found.identities()


def test_nodes_and_edges_stand_where_they_first_came() -> None:
    evidence = Evidence.of_pieces([([5, 2], [9]), ([2, 5, 1], [9, 3])], [0.2, 0.9])
    assert united(evidence) == [((2, 5, 1), (9, 3))]


def test_a_triple_brings_its_ends() -> None:
    assert united(Evidence.of_edges([0])) == [(tuple(CLUB.ends([0]).tolist()), (0,))]


def test_pieces_linked_by_a_third_are_one() -> None:
    evidence = Evidence.of_pieces([([1], []), ([2], []), ([7], []), ([2, 1], [])])
    assert united(evidence, apart=True) == [((1, 2), ()), ((7,), ())]


def test_nothing_in_nothing_out() -> None:
    assert united(Evidence.of_nodes([])) == [] == united(Evidence.of_nodes([]), apart=True)


@given(st.lists(PIECE, max_size=6))
def test_nothing_is_lost_and_apart_is_apart(pieces: list[tuple[list[int], list[int]]]) -> None:
    evidence = Evidence.of_pieces(pieces)
    whole, parts = united(evidence), united(evidence, apart=True)
    edges = {e for _, some in pieces for e in some}
    assert len(whole) == min(len(pieces), 1)
    assert {e for _, some in whole for e in some} == edges == {e for _, some in parts for e in some}
    held = [v for nodes, _ in parts for v in nodes]
    assert len(held) == len(set(held)) and set(held) == {v for nodes, _ in whole for v in nodes}
    assert {v for nodes, _ in pieces for v in nodes} <= set(held)
