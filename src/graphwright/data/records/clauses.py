"""Numbered clauses of contracts, laws and manuals: 4.2(b), § 12, Art. 5."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

from graphwright.data.document import Heading
from graphwright.data.records.record import CLAUSE, Field, Record
from graphwright.text.numbers import numeral_value, roman

Number: TypeAlias = tuple[int, ...]

_WORD, _LETTER = r"[^\W\d_]{2,12}\.?", "[a-zа-яα-ω]"
_SUB = rf"\((?:\d{{1,2}}|{_LETTER}{{1,4}})\)"
_CLAUSE = re.compile(
    r"^[ \t]*(?:[-*•] )?(?:"
    rf"(?:(?:(?P<word>§|{_WORD})[ \t\xa0]?)?(?P<number>\d{{1,4}}(?:\.\d{{1,3}}){{0,5}}[a-zA-Z]?)(?:(?<=\d)er|[ºª°])?"
    rf"|(?:(?P<title>{_WORD})[ \t\xa0])?(?P<roman>[IVXLC]{{1,7}}))"
    rf"(?P<subs>(?:{_SUB}){{0,3}})(?P<end>(?:[.):]-?)?)(?=[ \t\xa0]|$)(?:[ \t\xa0]+[-–—](?=[ \t\xa0]))?"
    r"|第(?P<article>\d{1,4}|[一二三四五六七八九十百零〇]{1,7})[条條]"
    rf"|(?:(?P<sub>{_SUB})|(?P<letter>{_LETTER})\))(?=[ \t\xa0]))",
    re.MULTILINE,
)
_MIN_CLAUSES = 3
_MAX_LABEL = 15  # of Roman labels: l and c are letters
_MAX_GAP = 3  # numbers that may be missing between two sections without a word
_MAX_MARKS = 20_000
_MAX_BACK = 50  # marks between two of a chain
_MIN_SECTION = 200  # average characters of sections; items of a list are shorter
_MAX_TITLE, _MAX_TEXT = 100, 4_000  # characters


class _Mark(NamedTuple):
    """The beginning of a possible clause: where its number and its words begin, its kind, number and label.

    `number` is empty for a label such as "(b)", which counts below a number. `clear`: no small letter follows. `apart`:
    an empty line stands above it. `leads`: the line below it is not empty. `titled`: it leads, and its own line neither
    ends nor goes on as a sentence does. `opens`: a heading, a title apart, or one whose first part
    follows may begin a section after a gap.
    """

    start: int
    body: int
    kind: str
    number: Number
    label: str
    subs: tuple[str, ...] = ()
    clear: bool = True
    depth: int = 0
    apart: bool = False
    leads: bool = False
    titled: bool = False
    opens: bool = False


class Clause(NamedTuple):
    """A clause: where it begins, where its words begin, its number as one cites it, and its depth from 1."""

    start: int
    body: int
    number: str
    depth: int
    is_sub: bool


def clauses(text: str, headings: Collection[int] = ()) -> list[Clause]:
    r"""Return the clauses of a text in order, none for a text without at least three that follow one another.

    The numbers decide: each begins a line and is the first below the last, or follows it or one above it. Items of a
    plain list are no clauses. `headings`: the characters at which headings begin.

    >>> text = "4.9 Term\nOne year.\n4.10 Notice\nIt is due\n(a) in writing, and\n(b) in time.\n5. Costs\n"
    >>> [(clause.number, clause.depth) for clause in clauses(text)]
    [('4.9', 2), ('4.10', 2), ('4.10(a)', 3), ('4.10(b)', 3), ('5', 1)]
    """
    marks = list(islice(_marks(text, headings), _MAX_MARKS + 1))
    if len(marks) > _MAX_MARKS:  # a table of numbers
        return []
    kinds: dict[str, list[_Mark]] = {}
    for mark in marks:
        if mark.number:
            kinds.setdefault(mark.kind, []).append(mark)
    chains = [chain for same in kinds.values() for chain in _chains(same)]
    subs = [mark.start for mark in marks if not mark.number]
    main = {mark.start for chain in chains if _stands(chain, subs) for mark in chain}
    single = {m.start for m in marks if m.start not in main and m.opens and (_is_law(m.kind) or m.start in headings)}
    main |= single if main else set()
    result: list[Clause] = []
    last: _Mark | None = None
    for mark in marks:
        is_part = last is not None and last.start in single and mark.number < last.number[:1] and len(mark.number) == 1
        if (mark.start in main and not is_part) or (last is not None and _is_within(last, mark)):
            last, below = mark, [(_kind(label), label) for label in mark.subs]
        elif last is None or not (not mark.number or (last.kind and not mark.kind)) or not _add_sub(below, mark.label):
            continue
        number = f"{last.label}{''.join(f'({label})' for _, label in below)}"
        result.append(Clause(mark.start, mark.body, number, last.depth + len(below), bool(below)))
    return result


def _marks(text: str, headings: Collection[int]) -> Iterator[_Mark]:
    for match in _CLAUSE.finditer(text):
        start = match.start() + len(match[0]) - len(match[0].lstrip(" \t-*•"))
        if label := (match["sub"] or match["letter"] or "").strip("()"):
            yield _Mark(start, match.end(), "", (), label)
            continue
        word = "第" if match["article"] else match["word"] or match["title"] or ""
        digits = match["article"] or match["number"] or match["roman"]
        letter = digits[-1] if match["number"] and digits[-1].isalpha() else ""
        parts = tuple(map(numeral_value, digits.removesuffix(letter).split(".")))
        is_bare = not word and len(parts) == 1 and start not in headings
        if 0 in parts[:1] or (is_bare and (not (match["end"] or match["subs"]) or letter or parts[0] > 999)):
            continue  # a number in running text, or a year
        label = match[0].strip() if word == "第" else f"{word} {digits}".strip()
        number = (*parts, ord(letter.lower()) - 96) if letter else parts
        subs = tuple(re.findall(r"\w+", match["subs"] or ""))
        following = text[match.end() : match.end() + 3].strip()[:1]
        kind = word.casefold() or "roman" * bool(match["roman"])
        apart = text[max(match.start() - 2, 0) : match.start()] in ("", "\n", "\n\n")
        below = text.find("\n", match.end())
        leads = below >= 0 and not text[below + 1 : below + 2].isspace() and below + 1 < len(text)
        clear = not following.islower()
        titled = bool(_title(text, match.end(), len(text)))
        first_part = re.compile(rf"[^\n]*\s+{re.escape(digits)}\.1(?!\d)").match(text, match.end())
        opens = start in headings or (apart and titled) or bool(first_part)
        yield _Mark(
            start, match.end(), kind, number, label, subs, clear, len(parts), apart, leads, leads and titled, opens
        )


def _chains(marks: Sequence[_Mark]) -> Iterator[list[_Mark]]:
    """Yield the best chains of marks of one kind, each of which follows the one before it; chains do not overlap."""
    best: list[float] = []
    before: list[int] = []
    for at, mark in enumerate(marks):
        steps = ((best[i] + weight, i) for i in range(max(0, at - _MAX_BACK), at) if (weight := _step(marks[i], mark)))
        score, last = max(steps, default=(1.0, -1))
        best.append(score)
        before.append(last)
    free = [True] * len(marks)
    for at in sorted(range(len(marks)), key=lambda at: -best[at]):
        chain = list[int]()
        while at >= 0 and free[at]:
            chain.append(at)
            at = before[at]
        if chain:
            free[chain[-1] : chain[0] + 1] = [False] * (chain[0] + 1 - chain[-1])
            yield [marks[i] for i in reversed(chain)]


def _step(last: _Mark, mark: _Mark) -> float:
    """Return how well a number follows another: 1 if it comes next, 0.5 with numbers missing between, 0 if not at all.

    It comes next below the last, after it, or after one above it. Numbers may be missing before a mark that cannot be
    a number in running text: no small letter follows.
    """
    a, b = last.number, mark.number
    if a == b:
        return float(bool(mark.subs) and mark.subs != last.subs)
    if b[: len(a)] == a:
        return 1.0 if len(b) == len(a) + 1 and b[-1] <= 1 else 0.5 * mark.clear
    depth = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), -1)
    if depth < 0 or b[depth] < a[depth]:
        return 0.0
    if b[depth] == a[depth] + 1 and all(part <= 1 for part in b[depth + 1 :]):
        return 1.0
    return 0.5 * (mark.clear and (len(b) > 1 or bool(mark.kind) or mark.opens or b[depth] - a[depth] <= _MAX_GAP))


def _is_law(kind: str) -> bool:
    return kind in ("§", "第") or kind.startswith("art")


def _stands(chain: Sequence[_Mark], subs: Sequence[int]) -> bool:
    """Return whether these are clauses rather than items of a list or captions; `subs`: where labels like (b) are."""
    kind, first, last = chain[0].kind, chain[0].start, chain[-1].start
    if len(chain) < (_MIN_CLAUSES - _is_law(kind)):
        return False
    if _is_law(kind) or any(len(mark.number) > 1 or mark.subs for mark in chain):
        return True
    if kind and 2 * sum(mark.apart and (mark.leads or kind == "roman") for mark in chain) > len(chain):
        return True
    if all(mark.apart and mark.titled for mark in chain):
        return True
    has_subs = bisect_left(subs, first) < bisect_left(subs, last)
    return has_subs or (last - first) / (len(chain) - 1) >= _MIN_SECTION


def _is_within(last: _Mark, mark: _Mark) -> bool:
    """Return whether a number without a word belongs to a clause: 4.1 or 4(a) to section 4, or follows such a one."""
    first = last.number[:1]
    goes_on = bool(last.kind) or len(last.number) > 1 or bool(last.subs)
    return goes_on and not mark.kind and mark.number[:1] == first and (len(mark.number) > 1 or bool(mark.subs))


def _add_sub(below: list[tuple[str, str]], label: str) -> bool:
    """Add "(b)" to the numbering below a clause, if it is the first of its kind or follows another."""
    for depth in range(len(below) - 1, -1, -1):
        kind, last = below[depth]
        if label == _next(kind, last) or (kind == "1" and label.isdigit() and int(label) > int(last)):
            below[depth:] = [(kind, label)]
            return True
    if label in ("a", "1", "i", "а", "α"):
        below.append((_kind(label), label))
        return True
    return False


def _kind(label: str) -> str:
    return "1" if label.isdigit() else "i" if 0 < numeral_value(label.upper()) <= _MAX_LABEL else "a"


def _next(kind: str, label: str) -> str:
    """Return the label after another of its kind, "" after the last."""
    if kind == "i":
        return roman(numeral_value(label.upper()) + 1).lower()
    return chr(ord(label) + 1) if len(label) == 1 and label not in "zяω" else ""


def clause_records(text: str, headings: Sequence[Heading]) -> tuple[tuple[Record, ...], tuple[Heading, ...]]:
    """Return a record for each clause of a text, and the headings of the text with those of its clauses.

    A record spans the clause and those below it; its field "text" is its own words. A line of a table of contents,
    which repeats the number and the title of a clause, is neither.
    """
    found = clauses(text, {heading.start for heading in headings})
    if not found:
        return (), tuple(headings)
    ends = [clause.start for clause in found[1:]] + [len(text)]
    titles = ["" if clause.is_sub else _title(text, clause.body, end) for clause, end in zip(found, ends, strict=True)]
    repeated = _repeated(found, titles, ends)
    kept = [at for at in range(len(found)) if at not in repeated]
    records: list[Record] = []
    for at in kept:
        below = (i for i in range(at + 1, len(found)) if found[i].depth <= found[at].depth)
        records.append(_record(text, found[at], titles[at], ends[at], ends[next(below, len(found)) - 1]))
    return tuple(records), _merged(headings, [(found[at], titles[at]) for at in kept if not found[at].is_sub])


def _record(text: str, clause: Clause, title: str, own_end: int, end: int) -> Record:
    start, end = clause.start, clause.start + len(text[clause.start : end].rstrip())
    fields = [Field("number", clause.number, start, clause.body)]
    first = clause.body + len(text[clause.body : own_end]) - len(text[clause.body : own_end].lstrip())
    if title:
        fields.append(Field("title", title, first, first + len(title)))
        first += len(title)
    own = text[first:own_end]
    begin = first + len(own) - len(own.lstrip())
    if own.strip() and len(own) <= _MAX_TEXT:
        fields.append(Field("text", " ".join(own.split()), begin, first + len(own.rstrip())))
    return Record(CLAUSE, tuple(fields), start, end)


def _title(text: str, body: int, end: int) -> str:
    """Return the title of a clause: a short line that does not end or go on as a sentence does; "" for none."""
    stop = text.find("\n", body, end)
    line, rest = (text[body:end], "") if stop < 0 else (text[body:stop], text[stop + 1 : min(stop + 200, end)])
    line = line.strip(" \t\xa0")
    following = rest.lstrip(" \t")[:1]
    goes_on = following.islower() or following.isdigit()
    if len(line) > _MAX_TITLE or line.endswith((".", ";", ",", ":")) or goes_on:
        return ""
    return line


def _repeated(found: Sequence[Clause], titles: Sequence[str], ends: Sequence[int]) -> set[int]:
    """Return the clauses that are lines of a table of contents: a later one with number and title is longer."""
    last: dict[tuple[str, str], int] = {}
    repeated = set[int]()
    for at in range(len(found) - 1, -1, -1):
        title = re.sub(r"[\s.…]*\d*$", "", titles[at])
        if title:
            later = last.setdefault((found[at].number, title), at)
            if later != at and ends[later] - found[later].start > ends[at] - found[at].start:
                repeated.add(at)
    return repeated


def _merged(headings: Sequence[Heading], found: Sequence[tuple[Clause, str]]) -> tuple[Heading, ...]:
    """Return headings with those of clauses between them, at the levels below the headings above."""
    named = {clause.start: Heading(clause.start, clause.depth, f"{clause.number} {t}".strip()) for clause, t in found}
    merged = named | {heading.start: heading for heading in headings}
    own, given = {clause.start: clause.depth for clause, _ in found}, set(headings)
    base = 0  # the level of a clause, less its depth
    result: list[Heading] = []
    for start in sorted(merged):
        heading = merged[start]
        if start not in own:
            base = heading.level
        elif heading in given:
            base = heading.level - own[start]
        else:
            heading = heading._replace(level=max(base + own[start], 1))
        result.append(heading)
    return tuple(result)
