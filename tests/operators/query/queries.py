"""Random queries for tests."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from graphwright.operators.query.query import (
    ANY,
    Aggregate,
    Both,
    Compare,
    Count,
    Counted,
    Difference,
    Either,
    Everything,
    Except,
    Exists,
    Extreme,
    Fields,
    Follow,
    Frequent,
    Has,
    Named,
    Neighbour,
    OfType,
    Or,
    Query,
    Step,
    Things,
    Where,
)

TIMES = st.sampled_from((1, 1, 1, 1, ANY, 2))
UNDATED = st.just("")
COMPARISONS = ("=", "!=", ">", ">=", "<", "<=", "contains")


def things(
    names: st.SearchStrategy[str],
    types: st.SearchStrategy[str],
    relations: st.SearchStrategy[str],
    values: st.SearchStrategy[str],
    leaves: int = 6,
    dates: st.SearchStrategy[str] = UNDATED,
) -> st.SearchStrategy[Things]:
    """Return sets of things over these names; `leaves`: the most named things, types and values of one."""
    steps = st.builds(Step, relations, st.booleans(), TIMES, dates)
    paths = st.lists(steps, max_size=2).map(tuple)
    start = st.one_of(st.builds(Named, names), st.builds(OfType, types), st.builds(Everything))

    def larger(inner: st.SearchStrategy[Things]) -> st.SearchStrategy[Things]:
        compared = st.builds(Compare, paths, st.sampled_from(COMPARISONS), st.one_of(values, inner))
        counted = st.builds(Counted, paths, st.sampled_from(COMPARISONS[:-1]), st.integers(-1, 4))
        fields = st.builds(Fields, paths, st.sampled_from(COMPARISONS[:-1]), paths)
        conditions = st.one_of(compared, counted, fields, st.builds(Has, paths, st.booleans()))
        conditions = st.one_of(
            conditions, st.builds(Or, conditions, st.one_of(conditions, st.builds(Or, fields, compared)))
        )
        return st.one_of(
            st.builds(Follow, inner, steps),
            st.builds(Where, inner, conditions),
            *(st.builds(operation, inner, inner) for operation in (Both, Either, Except)),
            st.builds(Extreme, inner, paths, st.booleans(), st.integers(1, 3), st.booleans(), st.booleans()),
            st.builds(Frequent, inner, steps, st.booleans()),
            st.builds(Neighbour, inner, st.sampled_from((1, -1, 2))),
        )

    return st.recursive(start, larger, max_leaves=leaves)


def queries(sets: st.SearchStrategy[Things], relations: st.SearchStrategy[str]) -> st.SearchStrategy[Query]:
    """Return queries over these sets."""
    paths = st.lists(st.builds(Step, relations, st.booleans(), TIMES, st.just("")), max_size=2).map(tuple)
    functions: Sequence[str] = ("sum", "mean", "min", "max")
    amounts = st.one_of(
        st.builds(Count, sets),
        st.builds(Exists, sets, st.booleans()),
        st.builds(Aggregate, st.sampled_from(functions), sets, paths),
    )
    every = st.one_of(sets, amounts)
    return st.one_of(every, st.builds(Difference, every, every))
