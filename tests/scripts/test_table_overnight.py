"""Worlds of overnight: what a program gives is what the cells of its tables say."""

from random import Random

import pytest
from table_overnight import World, parsed, shown

_BLOCKS = "( call SW.getProperty ( call SW.singleton en.block ) ( string ! type ) )"


def _answers(world: World, program: str) -> list[str]:
    return world.answers(parsed(f"( call SW.listValue {program} )"))


@pytest.mark.parametrize("seed", range(5))
def test_answers_of_programs_are_those_of_the_cells(seed: int) -> None:
    world = World("blocks", Random(seed))
    rows = world.tables["block"]
    length = {row["block"]: float(row["length"].split()[0]) for row in rows}
    pyramids = [row["block"] for row in rows if row["shape"] == "pyramid"]
    longer = f"( call SW.filter {_BLOCKS} ( string length ) ( string > ) ( number 3 en.inch ) )"
    longest = f"( call SW.superlative {_BLOCKS} ( string max ) ( string length ) )"
    shaped = f"( call SW.filter {_BLOCKS} ( string shape ) ( string = ) en.shape.pyramid )"
    assert _answers(world, longer) == [name for name, inches in length.items() if inches > 3]
    assert _answers(world, longest) == [name for name, inches in length.items() if inches == max(length.values())]
    assert _answers(world, shaped) == pyramids
    assert _answers(world, f"( call .size {_BLOCKS} )") == [str(len(rows))]


def test_answers_of_unknown_thing_are_none() -> None:
    program = "( call SW.getProperty en.block.block99 ( string length ) )"
    assert _answers(World("blocks", Random(0)), program) == []


def test_shown_tables_hold_every_row_and_no_numbers_of_rows() -> None:
    world = World("socialnetwork", Random(1))
    tables = shown(world, Random(1))
    assert sorted(map(len, tables.values())) == sorted(map(len, world.tables.values()))
    assert not [column for rows in tables.values() for row in rows for column in row if column.startswith("#")]
