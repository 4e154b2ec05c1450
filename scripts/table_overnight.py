"""Worlds of tables in which the programs of the questions of overnight (Wang, Berant and Liang 2015) are computed.

Each domain has some tables, whose cells are drawn at random from the names that the programs use and some more. A
program gives the names of things, or numbers; `answers` computes them from the cells alone.
"""

from __future__ import annotations

import gzip
import json
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeAlias

from table_asked import Asked
from tables import Rows

from graphwright.text.values import value_of

Expression: TypeAlias = "str | list[Expression]"

_PER_DOMAIN = 200
_NAMES = ["alice", "bob", "carol", "david", "erin", "frank", "grace", "henry", "irene", "jack", "karen", "louis"]
_BLOCKS = [f"block {number}" for number in range(1, 11)]
_STREETS = ["123 sesame street", "900 mission ave", "12 hill road", "7 mill lane", "55 park row", "8 bay street",
            "31 oak drive", "200 main street", "64 lake view", "17 king road"]  # fmt: skip
_MEETINGS = ["weekly standup", "annual review", "budget talk", "design session", "team lunch", "board meeting",
             "sales call", "kickoff", "retrospective", "interview"]  # fmt: skip
_ARTICLES = ["multivariate data analysis", "metaphors we live by", "bootstrap methods", "syntactic structures",
             "the lasso", "deep parsing", "causal trees", "speech acts", "sparse graphs", "lexical rules"]  # fmt: skip
_RESTAURANTS = ["thai cafe", "pizzeria juno", "golden wok", "blue door", "casa maria", "noodle bar", "the oak",
                "sakura", "little corner", "river grill"]  # fmt: skip
_AREAS = "midtown west,chelsea,harlem,tribeca"
_SCHEMA: dict[str, dict[str, tuple[list[str], str]]] = {
    "blocks": {"block": (_BLOCKS, "shape=pyramid,cube,cylinder;color=red,green,blue;length=#inch 1 8;width=#inch 1 8;"
                         "height=#inch 1 8;left=@block;right=@block;above=@block;below=@block;is_special=?")},
    "calendar": {"meeting": (_MEETINGS, "date=day 2015;start_time=time 9;end_time=time 13;length=#hour 1 5;"
                             "location=greenberg cafe,central office,room 4;attendee=alice,bob,carol,david;"
                             "is_important=?")},
    "housing": {"housing_unit": (_STREETS, "housing_type=apartment,condo,house;rent=#dollar 1000 3000;"
                                 f"size=#square_feet 400 1600;neighborhood={_AREAS};posting_date=day 2015;"
                                 "has_private_bath=?;has_private_room=?;allows_cats=?;allows_dogs=?")},
    "publications": {"article": (_ARTICLES, "author=efron,lakoff,chomsky,pearl;publication_date=year 2000;"
                                 "venue=annals of statistics,computational linguistics,nature;cites=@article;"
                                 "won_award=?")},
    "restaurants": {"restaurant": (_RESTAURANTS, "cuisine=thai,italian,mexican,french;star_rating=#star 1 5;"
                                   f"price_rating=#dollar_sign 1 4;neighborhood={_AREAS};meals=lunch,dinner,breakfast;"
                                   "reviews=#review 10 60;kids=?;outdoor=?;takeout=?;delivery=?;reserve=?;waiter=?;"
                                   "groups=?;credit=?")},
    "socialnetwork": {
        "person": (_NAMES, "gender=male,female;birthdate=year 1998;birthplace=new york,bejing,paris,oslo;"
                   "height=#cm 160 200;relationship_status=single,married,divorced;friend=@person;logged_in=?"),
        "employee": ([], "employee=@person;employer=mckinsey,google,ikea;"
                     "job_title=software engineer,program manager,designer;employment_start_date=year 2000;"
                     "employment_end_date=year 2005"),
        "student": ([], "student=@person;university=brown,ucla,mit;field_of_study=computer science,history,biology;"
                    "education_start_date=year 1999;education_end_date=year 2004"),
    },
}  # fmt: skip
_PROPERTY_OF = {"housing": "housing_type", "food": "meals", "city": "birthplace", "company": "employer",
                "field": "field_of_study"}  # fmt: skip
_PERSON_OF = {"calendar": "attendee", "publications": "author"}
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq, ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le,
}  # fmt: skip


class Program(NamedTuple):
    """A question with its program in lambda-DCS."""

    domain: str
    question: str
    program: Expression


def read_programs(path: Path) -> list[Program]:
    """Return the questions of a file."""
    with gzip.open(path, "rt") as file:
        rows = [json.loads(line) for line in file]
    return [Program(row["domain"], row["question"], parsed(row["logical_form"])) for row in rows]


def parsed(text: str) -> Expression:
    """Return a program as nested lists of words."""
    stack: list[list[Expression]] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", text.replace("! type", "!type").replace("! =", "!=")):
        if token == "(":
            stack.append([])
        elif token == ")":
            closed = stack.pop()
            stack[-1].append(closed)
        else:
            stack[-1].append(token)
    return stack[0][0]


class World:
    """The tables of a domain with cells drawn at random."""

    def __init__(self, domain: str, draw: Random) -> None:
        self.domain = domain
        self.tables: dict[str, list[dict[str, str]]] = {}
        self._rows: dict[str, dict[str, str]] = {}
        schema = _SCHEMA[domain]
        units = draw.random() < 0.5
        for name, (keys, properties) in schema.items():
            size = draw.randrange(7, len(keys) + 1) if keys else 9
            chosen = [*keys[:2], *draw.sample(keys[2:], size - 2)] if keys else [f"#{name} {at}" for at in range(size)]
            draw.shuffle(chosen)
            kinds = dict(part.split("=") for part in properties.split(";"))
            self.tables[name] = [
                ({"#": key} if key.startswith("#") else {name: key})
                | {column: self._cell(kind, draw, schema, units) for column, kind in kinds.items()}
                for key in chosen
            ]
            self._rows |= dict(zip(chosen, self.tables[name], strict=True))

    @staticmethod
    def _cell(kind: str, draw: Random, schema: dict[str, tuple[list[str], str]], units: bool) -> str:
        first, *rest = kind.split()
        if kind == "?":
            return draw.choice(("yes", "no"))
        if kind[0] == "@":
            return draw.choice(schema[kind[1:]][0][:7])
        if kind[0] == "#":
            low, high = map(int, rest)
            number = draw.randrange(low, high + 1) if high < 100 else draw.randrange(low, high + 1, 20)
            return f"{number} {first[1:].replace('_', ' ')}" if units else str(number)
        if first == "day" and rest[0].isdigit():
            return f"{rest[0]}-0{draw.randrange(1, 4)}-0{draw.randrange(1, 6)}"
        if first == "year" and rest[0].isdigit():
            return str(int(rest[0]) + draw.randrange(0, 12))
        if first == "time" and rest[0].isdigit():
            return f"{int(rest[0]) + draw.randrange(0, 4)}:00"
        return draw.choice(kind.split(","))

    def answers(self, program: Expression) -> list[str]:
        """Return the answers of a program, none if it cannot be computed here."""
        try:
            given = self._evaluated(program)
        except (KeyError, ValueError, IndexError, TypeError):
            return []
        return [] if any(answer.startswith("#") for answer in given) else list(dict.fromkeys(given))

    def _evaluated(self, e: Any) -> list[str]:
        if isinstance(e, str):
            return [self._entity(e)] if e.startswith("en.") else [e]
        if e[0] == "number":
            return [e[1]]
        if e[0] in ("date", "time"):
            return [self._moment(e)]
        if isinstance(e[0], list):  # a lambda applied to a domain
            return self._filtered(self._evaluated(e[1]), e[0][2][3:])
        return self._called(e[1].split(".")[1], e[2:])

    def _called(self, name: str, arguments: list[Any]) -> list[str]:
        if name in ("listValue", "ensureNumericEntity", "singleton"):
            return self._evaluated(arguments[0])
        if name == "concat":
            return [value for argument in arguments for value in self._evaluated(argument)]
        if name == "domain":
            return [key for key in self._rows if key.startswith(f"#{arguments[0][1]}")]
        if name == "size":
            return [str(len(set(self._evaluated(arguments[0]))))]
        if name == "aggregate":
            numbers = [_amount(value) for value in self._valued(arguments[1])]
            total = sum(numbers)
            return [f"{total if arguments[0][1] == 'sum' else total / len(numbers):.6f}".rstrip("0").rstrip(".")]
        if name == "getProperty":
            return self._property(arguments)
        things = list(dict.fromkeys(self._evaluated(arguments[0])))
        if name == "filter":
            return self._filtered(things, arguments[1:])
        if name == "superlative":
            return self._best(things, arguments[1][1], lambda thing: _amount(self._values(thing, arguments[2])[0]))
        number = {thing: len(set(self._values(thing, arguments[2 if name == "countSuperlative" else 1])))
                  for thing in things}  # fmt: skip
        if name == "countSuperlative":
            return self._best(things, arguments[1][1], lambda thing: float(number[thing]))
        compared, amount = _COMPARED[arguments[2][1]], float(self._evaluated(arguments[3])[0])
        return [thing for thing in things if compared(number[thing], amount)]

    def _valued(self, e: Any) -> list[str]:
        """Return the values of a property of each thing, repeated ones too."""
        return [v for thing in dict.fromkeys(self._evaluated(e[2])) for v in self._values(thing, e[3])]

    @staticmethod
    def _best(things: list[str], end: str, key: Callable[[str], float]) -> list[str]:
        best = (max if end == "max" else min)(map(key, things))
        return [thing for thing in things if key(thing) == best]

    def _property(self, arguments: list[Any]) -> list[str]:
        if arguments[1] == ["string", "!type"]:
            return self._of_type(arguments[0][2].removeprefix("en."))
        return [v for thing in self._evaluated(arguments[0]) for v in self._values(thing, arguments[1])]

    def _of_type(self, name: str) -> list[str]:
        if name in self.tables:
            return [row[name] for row in self.tables[name]]
        column = _PERSON_OF[self.domain] if name == "person" else _PROPERTY_OF.get(name, name)
        return sorted({row[column] for rows in self.tables.values() for row in rows if column in row})

    def _values(self, thing: str, path: Any) -> list[str]:
        """Return the values of a property of a thing, or the things of which it is the value."""
        if path[0] == "string":
            return [self._rows[thing][path[1]]]
        if path[1] == "SW.reverse":
            return [key for key, row in self._rows.items() if row.get(path[2][1]) == thing]
        return self._values(thing, path[2])

    def _filtered(self, things: list[str], condition: list[Any]) -> list[str]:
        if len(condition) == 1:
            return [thing for thing in things if self._rows[thing][condition[0][1]] == "yes"]
        path, comparison, values = condition[0], condition[1][1], self._evaluated(condition[2])
        if comparison in ("=", "!="):
            return [t for t in things if any(_equal(v, w) for v in self._values(t, path) for w in values)
                    == (comparison == "=")]  # fmt: skip
        chosen = (min if comparison[0] == ">" else max)(map(_amount, values))
        return [t for t in things if any(_COMPARED[comparison](_amount(v), chosen) for v in self._values(t, path))]

    @staticmethod
    def _entity(name: str) -> str:
        text = name.rsplit(".", 1)[1].replace("_", " ")
        return re.sub(r"^block(\d)", r"block \1", text)

    @staticmethod
    def _moment(e: list[str]) -> str:
        if e[0] == "time":
            return f"{e[1]}:00"
        return e[1] if e[2] == "-1" else f"{e[1]}-{int(e[2]):02d}-{int(e[3]):02d}"


def _amount(text: str) -> float:
    value = value_of(text)
    if value is None:
        raise ValueError(text)
    return value.amount


def _equal(first: str, second: str) -> bool:
    one, other = value_of(first), value_of(second)
    return first == second or (one is not None and other is not None and one.amount == other.amount)


def shown(world: World, draw: Random) -> dict[str, list[dict[str, str]]]:
    """Return the tables of a world as a person would write them: names in capitals or not, headers in words."""
    capitals = draw.random() < 0.5
    tables = {}
    for name, rows in world.tables.items():
        header = {column: column.replace("_", " ") for column in rows[0] if column != "#"}
        if capitals:
            header = {column: text.capitalize() for column, text in header.items()}
        used = [{header[c]: v.title() if capitals and not v[0].isdigit() and v not in ("yes", "no") else v
                 for c, v in row.items() if c != "#"} for row in rows]  # fmt: skip
        tables[name.replace("_", " ") + draw.choice(("", "s"))] = used
    return tables


def overnight_questions(path: Path, draw: Random) -> Iterator[Asked]:
    """Yield questions with their answers in a world of its own for each; as many of each domain."""
    programs = read_programs(path)
    draw.shuffle(programs)
    taken: Counter[str] = Counter()
    for at, program in enumerate(programs):
        if taken[program.domain] >= _PER_DOMAIN:
            continue
        world = World(program.domain, draw)
        answers = world.answers(program.program)
        if answers:
            taken[program.domain] += 1
            tables = {name: Rows(list(rows[0]), rows) for name, rows in shown(world, draw).items()}
            yield Asked(f"overnight {at}", "overnight", program.domain, program.question, answers, tables)
