"""Reading of the notation of queries (see `notation`): tokens, then a parser by recursive descent."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, NoReturn, cast

from graphwright.errors import OptionError, cut, meant
from graphwright.operators.query.notation import (
    AGGREGATES,
    EXTREMES,
    FREQUENT,
    KEYWORDS,
    NEIGHBOURS,
    NUMBER,
    SET_OPERATIONS,
    WORD,
)
from graphwright.operators.query.query import (
    Aggregate,
    Compare,
    Comparison,
    Condition,
    Count,
    Counted,
    Difference,
    Everything,
    Exists,
    Extreme,
    Follow,
    Frequent,
    Has,
    Named,
    Neighbour,
    OfType,
    Path,
    Query,
    Step,
    Things,
    Where,
)

MAX_TOKENS = 300
"""Words and signs of a query; each may be a level of nesting."""
_HINTS = {
    '"': "; the quote is not closed",
    "[": "; the bracket is not closed",
    **dict.fromkeys("'‘’“”„«»", '; names and values stand in double quotes, as in "Graz"'),
}
"""What to do about a sign with which no word begins."""
_TOKEN = re.compile(
    rf'(?P<text>"(?:[^"]|"")*")|(?P<name>\[(?:[^\]]|\]\])*\])|(?P<number>{NUMBER.pattern})|(?P<word>{WORD.pattern})'
    r"|(?P<sign>!=|>=|<=|[=<>().,~])"
)
_COMPARISONS = ("=", "!=", ">", ">=", "<", "<=", "contains")
_FUNCTIONS = (*EXTREMES, *FREQUENT, *NEIGHBOURS)
_FORMS = ("count", "exists", "difference", *AGGREGATES)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def parse_notation(text: str) -> Query:
    """Return the query that a text writes. Raises OptionError with the place of an error.

    >>> parse_notation('"Heat".directed_by')
    Follow(things=Named(name='Heat'), step=Step(relation='directed_by', inverse=False))
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


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = len(text) - len(text.lstrip())
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            _fail(position, text[position:], f"this cannot be read{_HINTS.get(text[position], '')}")
        tokens.append(_Token(str(match.lastgroup), match[0], position))
        position = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
        if len(tokens) > MAX_TOKENS:
            raise OptionError(f"The query has more than {MAX_TOKENS} words and signs. Ask for less at a time.")
    return [*tokens, _Token("end", "", len(text))]


def _fail(start: int, found: str, problem: str) -> NoReturn:
    place = f"at character {start + 1}, {cut(found, 20)!r}" if found else "at its end"
    raise OptionError(f"The query cannot be read {place}: {problem}.")


class _Reader:
    """The tokens of a query, and the next one to read."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    @property
    def token(self) -> _Token:
        return self._tokens[self._at]

    def fail(self, problem: str) -> NoReturn:
        _fail(self.token.start, self.token.text, problem)

    def _next(self) -> _Token:
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

    def query(self) -> Query:
        """Read a query."""
        form = self._call(_FORMS)
        if not form:
            return self.things()
        query = self._form(form)
        self._expect(")")
        return query

    def _form(self, form: str) -> Query:
        """Read the arguments of a function whose value is a number or a truth value."""
        if form == "difference":
            first = self.query()
            self._expect(",")
            return Difference(first, self.query())
        if form in ("count", "exists"):
            return Count(self.things()) if form == "count" else Exists(self.things())
        things, path = self._steps()
        rest = self._rest(_followed(things, path))
        # only steps at the end of the argument are the path to the values
        things, path = (things, path) if rest == _followed(things, path) else (rest, ())
        return Aggregate(cast('Literal["sum", "mean", "min", "max"]', form), things, path)

    def things(self) -> Things:
        """Read a set of things."""
        return self._rest(_followed(*self._steps()))

    def _rest(self, things: Things) -> Things:
        """Read conditions of a set, and what it is combined with."""
        things = self._conditions(things)
        while word := self._take(*SET_OPERATIONS):
            things = SET_OPERATIONS[word](things, self._conditions(_followed(*self._steps())))
        return things

    def _conditions(self, things: Things) -> Things:
        if self._take("where"):
            things = Where(things, self._condition())
            while self._take("and", "where"):
                things = Where(things, self._condition())
        return things

    def _steps(self) -> tuple[Things, Path]:
        """Read a set and the steps that follow it."""
        things = self._primary()
        return things, self._path(".") if self._is(".") else ()

    def _path(self, sign: str = "") -> Path:
        """Read steps with dots between them, after `sign`."""
        if sign:
            self._expect(sign)
        path = [self._step()]
        while self._take("."):
            path.append(self._step())
        return tuple(path)

    def _step(self) -> Step:
        inverse = bool(self._take("~"))
        return Step(self._name("the name of a relation"), inverse)

    def _name(self, expected: str) -> str:
        """Read the name of a type or a relation."""
        token = self.token
        if token.kind == "name":
            return self._next().text[1:-1].replace("]]", "]")
        if token.kind != "word":
            self.fail(f"{expected} is expected")
        if token.text.lower() in KEYWORDS:
            self.fail(f"{expected} is expected; in square brackets [{token.text}] is a name")
        return self._next().text

    def _primary(self) -> Things:
        if self.token.kind == "text":
            return Named(_unquoted(self._next().text))
        if self._take("("):
            things = self.things()
            self._expect(")")
            return things
        if function := self._call(_FUNCTIONS):
            things = self._function(function)
            self._expect(")")
            return things
        if self._take("everything"):
            return Everything()
        if self.token.kind == "word" and self._tokens[self._at + 1].text == "(":
            self._fail_function()
        return OfType(self._name("a set, such as a type or a name in double quotes,"))

    def _fail_function(self) -> NoReturn:
        name = self.token.text.lower()
        if name in _FORMS:
            self.fail(f"{name} gives a number or a truth value, and a set is expected")
        self.fail(f"there is no function {name!r}.{meant(name, (*_FORMS, *_FUNCTIONS))} Known are "
                  f"{', '.join((*_FORMS, *_FUNCTIONS))}")  # fmt: skip

    def _function(self, function: str) -> Things:
        """Read the arguments of a function whose value is a set."""
        if function in FREQUENT:
            start, steps = self._steps()
            if not steps:
                self.fail("a step such as .name is expected")
            return Frequent(_followed(start, steps[:-1]), steps[-1], FREQUENT[function])
        count = self._number("a number") if self.token.kind == "number" else 1
        things = self.things()
        if function in NEIGHBOURS:
            return Neighbour(things, count * NEIGHBOURS[function])
        path: Path = ()
        if function in ("largest", "smallest"):
            self._expect("by")
            path = self._path()
        return Extreme(things, path, EXTREMES[function], count)

    def _number(self, expected: str) -> int:
        text = self.token.text
        if not re.fullmatch(r"[-+]?[0-9]{1,18}", text):
            self.fail(f"{expected} is expected")
        self._next()
        return int(text)

    def _condition(self) -> Condition:
        if self._take("has"):
            negated = bool(self._take("no"))
            return Has(self._condition_path(), negated)
        if self._call(("count",)):
            path = self._condition_path()
            self._expect(")")
            comparison = self._comparison(_COMPARISONS[:-1])
            return Counted(path, comparison, self._number("a whole number"))
        path = self._condition_path()
        return Compare(path, self._comparison(_COMPARISONS), self._value())

    def _condition_path(self) -> Path:
        return () if self._take("it") else self._path()

    def _comparison(self, known: tuple[str, ...]) -> Comparison:
        if not self._is(*known):
            self.fail(f"one of {', '.join(known)} is expected")
        return cast("Comparison", self._take(*known))

    def _value(self) -> str | Things:
        if self.token.kind == "number":
            return self._next().text
        if self.token.kind == "text":
            return _unquoted(self._next().text)
        if self._take("("):
            things = self.things()
            self._expect(")")
            return things
        self.fail('a value is expected, such as 2000, "open", or a set in parentheses')


def _followed(things: Things, path: Path) -> Things:
    for step in path:
        things = Follow(things, step)
    return things


def _unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"')
