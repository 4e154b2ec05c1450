"""Reading of the notation of queries (see `notation`): tokens, then a parser by recursive descent."""

from __future__ import annotations

import re
from math import isnan
from typing import Literal, NamedTuple, NoReturn, cast

from graphwright.errors import OptionError, cut, meant
from graphwright.operators.query import query as q
from graphwright.operators.query.notation import (
    AGGREGATES,
    DAY,
    EXTREMES,
    FREQUENT,
    KEYWORDS,
    NEIGHBOURS,
    NUMBER,
    SET_OPERATIONS,
    WORD,
)
from graphwright.search.statement_times import period_of

MAX_TOKENS = 300  # words and signs of a query; each may be a level of nesting
_HINTS = {  # what to do about a sign with which no word begins
    '"': "; the quote is not closed",
    "[": "; the bracket is not closed",
    **dict.fromkeys("'‘’“”„«»", '; names and values stand in double quotes, as in "Graz"'),
}
_TOKEN = re.compile(
    rf'(?P<text>"(?:[^"]|"")*")|(?P<name>\[(?:[^\]]|\]\])*\])|'
    rf"(?P<number>(?<=@){DAY.pattern}|{NUMBER.pattern})|(?P<word>{WORD.pattern})"
    r"|(?P<sign>!=|>=|<=|[=<>().,~+@{}])"
)


class Token(NamedTuple):
    """A token: the kind of its text, and the character at which it stands."""

    kind: str
    text: str
    start: int


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a query and the end. Raises OptionError for a sign that none begins with."""
    tokens: list[Token] = []
    position = len(text) - len(text.lstrip())
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            fail(position, text[position:], f"this cannot be read{_HINTS.get(text[position], '')}")
        tokens.append(Token(str(match.lastgroup), match[0], position))
        position = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
        if len(tokens) > MAX_TOKENS:
            raise OptionError(f"The query has more than {MAX_TOKENS} words and signs. Ask for less at a time.")
    return [*tokens, Token("end", "", len(text))]


def fail(start: int, found: str, problem: str) -> NoReturn:
    """Raise OptionError for what is found at a character, from 0."""
    place = f"at character {start + 1}, {cut(found, 20)!r}" if found else "at its end"
    raise OptionError(f"The query cannot be read {place}: {problem}.")


_RANK = re.compile(r"([1-9][0-9]{0,17})(?:st|nd|rd|th)")
_COMPARISONS = ("=", "!=", ">", ">=", "<", "<=", "contains")
_FUNCTIONS = (*EXTREMES, *FREQUENT, *NEIGHBOURS)
_FORMS = ("count", "exists", "none", "difference", *AGGREGATES)


def parse_notation(text: str) -> q.Query:
    """Return the query that a text writes. Raises OptionError with the place of an error.

    >>> parse_notation('"Heat".directed_by')
    Follow(things=Named(name='Heat'), step=Step(relation='directed_by', inverse=False, times=1, at=''))
    >>> parse_notation("count(films where year >)")
    Traceback (most recent call last):
    graphwright.errors.OptionError: The query cannot be read at character 25, ')': a value is expected, such as 2000, \
"open", or a set in parentheses.
    """
    reader = _Reader(text)
    query = reader.query()
    if reader.token.kind != "end":
        reader.fail("the end, where, union, intersect, except or a step such as .name is expected")
    return query


class _Reader:
    """The tokens of a query, and the next one to read."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens_of(text)
        self._at = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._at]

    def fail(self, problem: str) -> NoReturn:
        fail(self.token.start, self.token.text, problem)

    def _next(self) -> Token:
        token = self.token
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _is(self, *texts: str) -> bool:
        return self.token.kind in ("word", "sign") and self.token.text.lower() in texts

    def _take(self, *texts: str) -> str:
        """Return the next token in lower case and pass it, if it is one of these; "" otherwise."""
        return self._next().text.lower() if self._is(*texts) else ""

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            self.fail(f"{sign!r} is expected")

    def _call(self, names: tuple[str, ...]) -> str:
        """Return the name of a function and pass it with its parenthesis; "" if none of them is next."""
        following = self._tokens[self._at + 1 : self._at + 2]
        if not self._is(*names) or not following or following[0].text != "(":
            return ""
        name = self._take(*names)
        self._next()
        return name

    def query(self) -> q.Query:
        form = self._call(_FORMS)
        if not form:
            return self.things()
        query = self._form(form)
        self._expect(")")
        return query

    def _form(self, form: str) -> q.Query:
        """Read the arguments of a function whose value is a number or a truth value."""
        if form == "difference":
            first = self.query()
            self._expect(",")
            return q.Difference(first, self.query())
        if form == "count":
            return q.Count(self.things())
        if form in ("exists", "none"):
            return q.Exists(self.things(), form == "none")
        things, path = self._steps()
        rest = self._rest(_followed(things, path))
        # only steps at the end of the argument are the path to the values
        things, path = (things, path) if rest == _followed(things, path) else (rest, ())
        return q.Aggregate(cast('Literal["sum", "mean", "min", "max"]', form), things, path)

    def things(self) -> q.Things:
        return self._rest(_followed(*self._steps()))

    def _rest(self, things: q.Things) -> q.Things:
        """Read conditions of a set, and what it is combined with."""
        things = self._conditions(things)
        while word := self._take(*SET_OPERATIONS):
            things = SET_OPERATIONS[word](things, self._conditions(_followed(*self._steps())))
        return things

    def _conditions(self, things: q.Things) -> q.Things:
        if not self._take("where"):
            return things
        condition = self._condition()
        if self._is("or"):
            things = q.Where(things, self._any(condition))
        else:
            things = q.Where(things, condition)
            while self._take("and", "where"):
                things = q.Where(things, self._condition())
        if self._is("or", "and", "where"):
            self.fail('conditions with "or" between them stand in parentheses: a = 1 and (b = 2 or c = 3)')
        return things

    def _any(self, condition: q.Condition) -> q.Condition:
        """Read conditions that follow another, with "or" between them."""
        while self._take("or"):
            condition = q.Or(condition, self._condition())
        return condition

    def _steps(self) -> tuple[q.Things, q.Path]:
        return self._primary(), self._path(".") if self._is(".") else ()

    def _path(self, sign: str = "") -> q.Path:
        """Read steps with dots between them, after `sign`."""
        if sign:
            self._expect(sign)
        path = [self._step()]
        while self._take("."):
            path.append(self._step())
        return tuple(path)

    def _step(self) -> q.Step:
        inverse = bool(self._take("~"))
        relation = self._name("the name of a relation")
        times = q.ANY if self._take("+") else self._times() if self._take("{") else 1
        return q.Step(relation, inverse, times, self._date() if self._take("@") else "")

    def _times(self) -> int:
        """Read how often a step is taken: "1,3}"."""
        first = self._number("1")
        self._expect(",")
        times = self._number("a whole number")
        if first != 1 or times < 1:
            self.fail("a step is taken once or more, as in parent{1,3}, or any number of times: parent+")
        self._expect("}")
        return times

    def _date(self) -> str:
        if self._take(q.NOW):
            return q.NOW
        text = self._value() if self.token.kind in ("number", "text") else ""
        if not isinstance(text, str) or isnan(sum(period_of(text))):
            self.fail(f"a date is expected, such as 2019, 2019-06-01 or {q.NOW}")
        return text

    def _name(self, expected: str) -> str:
        token = self.token
        if token.kind == "name":
            return self._next().text[1:-1].replace("]]", "]")
        if token.kind != "word":
            self.fail(f"{expected} is expected")
        if token.text.lower() in KEYWORDS:
            self.fail(f"{expected} is expected; in square brackets [{token.text}] is a name")
        return self._next().text

    def _primary(self) -> q.Things:
        if self.token.kind == "text":
            return q.Named(_unquoted(self._next().text))
        if self._take("("):
            things = self.things()
            self._expect(")")
            return things
        if function := self._call(_FUNCTIONS):
            things = self._function(function)
            self._expect(")")
            return things
        if self._take("everything"):
            return q.Everything()
        if self.token.kind == "word" and self._tokens[self._at + 1].text == "(":
            self._fail_function()
        return q.OfType(self._name("a set, such as a type or a name in double quotes,"))

    def _fail_function(self) -> NoReturn:
        name = self.token.text.lower()
        if name in _FORMS:
            self.fail(f"{name} gives a number or a truth value, and a set is expected")
        self.fail(f"there is no function {name!r}.{meant(name, (*_FORMS, *_FUNCTIONS))} Known are "
                  f"{', '.join((*_FORMS, *_FUNCTIONS))}")  # fmt: skip

    def _function(self, function: str) -> q.Things:
        """Read the arguments of a function whose value is a set."""
        if function in FREQUENT:
            start, steps = self._steps()
            if not steps:
                self.fail("a step such as .name is expected")
            return q.Frequent(_followed(start, steps[:-1]), steps[-1], FREQUENT[function])
        rank = _RANK.fullmatch(self.token.text) if function in EXTREMES else None
        if rank:
            self._next()
        count = int(rank[1]) if rank else self._number("a number") if self.token.kind == "number" else 1
        things = self.things()
        if function in NEIGHBOURS:
            return q.Neighbour(things, count * NEIGHBOURS[function])
        path, by_number = self._order() if function in ("largest", "smallest") else ((), False)
        return q.Extreme(things, path, EXTREMES[function], count, rank is not None, by_number)

    def _order(self) -> tuple[q.Path, bool]:
        """Read the path to the values that things are ordered by, and whether these are numbers of values."""
        self._expect("by")
        if not self._call(("count",)):
            return self._path(), False
        path = self._condition_path()
        self._expect(")")
        return path, True

    def _number(self, expected: str) -> int:
        text = self.token.text
        if not re.fullmatch(r"[-+]?[0-9]{1,18}", text):
            self.fail(f"{expected} is expected")
        self._next()
        return int(text)

    def _condition(self) -> q.Condition:
        if self._take("("):
            condition = self._any(self._condition())
            self._expect(")")
            return condition
        if self._take("has"):
            negated = bool(self._take("no"))
            return q.Has(self._condition_path(), negated)
        if self._call(("count",)):
            path = self._condition_path()
            self._expect(")")
            comparison = self._comparison(_COMPARISONS[:-1])
            return q.Counted(path, comparison, self._number("a whole number"))
        path = self._condition_path()
        comparison = self._comparison(_COMPARISONS)
        if comparison != "contains" and (self.token.kind in ("name", "word") or self._is("~")):
            return q.Fields(path, comparison, self._condition_path())
        return q.Compare(path, comparison, self._value())

    def _condition_path(self) -> q.Path:
        return () if self._take("it") else self._path()

    def _comparison(self, known: tuple[str, ...]) -> q.Comparison:
        if not self._is(*known):
            self.fail(f"one of {', '.join(known)} is expected")
        return cast("q.Comparison", self._take(*known))

    def _value(self) -> str | q.Things:
        if self.token.kind == "number":
            return self._next().text
        if self.token.kind == "text":
            return _unquoted(self._next().text)
        if self._take("("):
            things = self.things()
            self._expect(")")
            return things
        self.fail('a value is expected, such as 2000, "open", or a set in parentheses')


def _followed(things: q.Things, path: q.Path) -> q.Things:
    for step in path:
        things = q.Follow(things, step)
    return things


def _unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"')
