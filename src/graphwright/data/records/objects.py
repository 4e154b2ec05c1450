"""Objects of JSON, YAML and XML as text and records: nested keys become paths, objects in a list a record each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from graphwright.data.document import metadata_text
from graphwright.data.formats.format import Extracted, TextBuilder, UnreadableError
from graphwright.data.records.grid import CellRow, is_number
from graphwright.data.records.header import header_evidence
from graphwright.data.records.record import DOCUMENT, Field, Record
from graphwright.data.records.table import SAMPLE
from graphwright.text.characters import clean
from graphwright.text.dates import date_text

Object: TypeAlias = Mapping[str, Any]

_MAX_DEPTH = 40  # levels of nested objects; what is deeper is written as JSON
_MAX_VALUES = 5_000_000  # of one file, as an alias of YAML repeats what it names
_MAX_NUMBERS = 64  # of a list; longer ones are vectors, and neither text nor facts
_MAX_INHERITED = 12, 100  # fields of an object that those in its lists repeat, and characters of each
_MIN_MAP = 3  # objects with the same keys, under keys that are ids
_NAMES = ("name", "title", "label")  # keys of the name of an object
_OWN_NAME = re.compile(r".*(?:[a-z]N|[_\W]n)ame")  # displayName, real_name
_KINDS = frozenset({"type", "kind", "object", "key", "cursor"})
# The only key of an object that says the type or the language of a value: of MongoDB, DynamoDB, Firestore, Contentful.
_TYPED = re.compile(r"\$.*|[SNBML]|[SNB]S|BOOL|[a-z]+(?:[A-Z][a-z]+)?Value|[a-z]{2}-[A-Z]{2}")
_MARKUP = re.compile(r"</[A-Za-z][A-Za-z0-9]{0,20}>|<br ?/?>")


class Cell(NamedTuple):
    """A scalar of an object: its path ("address.city") and its text."""

    path: str
    text: str


class Nested(NamedTuple):
    """A list of objects in an object, and its path."""

    path: str
    objects: Sequence[Object]


def object_parts(value: Object, path: str = "", depth: int = 0, in_row: bool = True) -> Iterator[Cell | Nested]:
    """Yield the scalars and the lists of objects of an object, in order; nested keys are joined by dots.

    The name of a nested object stands for it: "city" is the path of its name, and "city.area" that of its area. Each
    scalar of a list is a cell of its own. Null and empty values are left out, and so are lists of more than 64
    numbers. A mapping of at least three objects with a key in common, or of two under keys with digits, is a list of
    objects with their keys as "id"; a table is a list of objects, too. `in_row`: other objects have the same keys, so
    that two objects alike have roles in it, as "home" and "away" do; else their keys name them.

    >>> list(object_parts({"city": {"name": "Graz", "tags": ["old", "green"]}, "rivers": [{"name": "Mur"}]}))
    [Cell(path='city', text='Graz'), Cell(path='city.tags', text='old'), Cell(path='city.tags', text='green'), \
Nested(path='rivers', objects=[{'name': 'Mur'}])]
    """
    named = _name_key(value) if path else None
    for key, part in value.items():
        name = " ".join(clean(str(key)).split()).strip(".") if key != named else ""
        yield from _parts(part, f"{path}.{name}" if path and name else path or name, depth, in_row)


def _name_key(value: Object) -> str | None:
    """Return the key of the name of an object: "name" or the like, else the only one that ends in "name"."""
    texts = {str(key).lower(): key for key, part in value.items() if isinstance(part, str)}
    exact = next((texts[name] for name in _NAMES if name in texts), None)
    own = [key for key in texts.values() if _OWN_NAME.fullmatch(str(key))]
    return exact if exact is not None else own[0] if len(own) == 1 else None


def unwrapped(value: Object) -> dict[str, Any]:
    """Return an object with the members of its envelope in place of it; one without an envelope as it is.

    An envelope is a member that holds most of what an object says, beside which stand only its ids and its type, as
    "attributes" (JSON:API), "properties" (GeoJSON), "_source" (Elasticsearch) and "fields" (Jira, Airtable) do.

    >>> unwrapped({"id": 7, "type": "town", "fields": {"name": "Graz", "area": 127.6}})
    {'id': 7, 'type': 'town', 'name': 'Graz', 'area': 127.6}
    >>> unwrapped({"town": "Graz", "mayor": {"name": "Elke Kahr", "party": "KPÖ"}})["mayor"]
    {'name': 'Elke Kahr', 'party': 'KPÖ'}
    """
    said = {key: _said(part) for key, part in value.items() if isinstance(part, dict)}
    if not said:
        return dict(value)
    largest = max(said, key=lambda key: said[key])
    beside = [(key, part) for key, part in value.items() if not isinstance(part, dict | list) and part is not None]
    is_row = all(_is_identity(str(key).lower(), part) for key, part in beside) and (beside or 0 in said.values())
    if not is_row or 2 * said[largest] <= sum(said.values()) or entries(value[largest]):
        return dict(value)
    inner = {key if key not in value else f"{largest}.{key}": part for key, part in value[largest].items()}
    members = [inner if key == largest else {key: part} for key, part in value.items()]
    return {key: part for member in members for key, part in member.items()}


def _said(value: Object) -> int:
    """Return how many members of an object say something of it."""
    members = [(str(key).lower(), _untyped(part)) for key, part in value.items()]
    return sum(not isinstance(part, dict) and not _is_identity(key, part) for key, part in members)


def _is_identity(key: str, value: Any) -> bool:
    """Return whether a member says which object it is in, and since when: an id, a type, an address or a date."""
    if key.startswith("_") or key.endswith("id") or key in _KINDS:
        return True
    is_address = isinstance(value, str) and (value.startswith("/") or "://" in value)
    return is_address or (isinstance(value, str) and bool(date_text(value)))


def _untyped(value: Any) -> Any:
    """Return a value without an object around it that only says its type or language."""
    while isinstance(value, dict) and len(value) == 1 and _TYPED.fullmatch(str(next(iter(value)))):
        (value,) = value.values()
    return value


def _parts(value: Any, path: str, depth: int, in_row: bool) -> Iterator[Cell | Nested]:
    if depth >= _MAX_DEPTH and isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False, default=str)
    value = with_rows(_untyped(value))
    if isinstance(value, dict):
        inner = entries(value, in_row)
        yield from [Nested(path, inner)] if inner else object_parts(value, path, depth + 1, in_row)
    elif isinstance(value, list | tuple):
        if len(value) > _MAX_NUMBERS and all(isinstance(item, int | float) for item in value):
            return
        if objects := [item for item in value if isinstance(item, dict) and item]:
            yield Nested(path, objects)
        for item in value:
            if not isinstance(item, dict):
                yield from _parts(item, path, depth + 1, in_row)
    elif text := scalar_text(value):
        yield Cell(path, text)


def with_rows(value: Any) -> Any:
    """Return a table of JSON as a list of objects; any other value as it is.

    A table may be lists below one of names, lists beside one of names, columns of numbered values, or columns of equal
    length, some of texts and some of numbers.

    >>> with_rows([["city", "pop"], ["Graz", 300]]), with_rows({"fields": [{"name": "city"}], "rows": [["Graz"]]})
    ([{'city': 'Graz', 'pop': 300}], {'rows': [{'city': 'Graz'}]})
    >>> with_rows({"city": {"0": "Graz", "1": "Linz"}}), with_rows({"city": ["Graz", "Linz"], "pop": [300, 210]})
    ([{'city': 'Graz'}, {'city': 'Linz'}], [{'city': 'Graz', 'pop': 300}, {'city': 'Linz', 'pop': 210}])
    """
    if isinstance(value, list):
        return (_named_rows(value[0], value[1:], is_found=True) if value else []) or value
    if not isinstance(value, dict) or not value:
        return value
    grids = [key for key, part in value.items() if isinstance(part, list) and part and isinstance(part[0], list)]
    for key, part in value.items() if len(grids) == 1 else ():
        if rows := _named_rows(part, value[grids[0]]):
            numbers = list(range(len(rows)))  # as pandas has them
            return {name: own for name, own in value.items() if name != key and own != numbers} | {grids[0]: rows}
    columns = list(value.values())
    if all(isinstance(part, dict) and list(part) == list(map(str, range(len(part)))) for part in columns):
        columns = [list(part.values()) for part in columns]
    elif len({_type_of(part) for part in columns} - {None}) < 2 or None in map(_type_of, columns):
        return value
    are_equal = all(isinstance(part, list) and len(part) == len(columns[0]) for part in columns)
    return (_named_rows(list(value), list(zip(*columns, strict=True))) if are_equal else []) or value


def _type_of(values: Any) -> type | None:
    """Return the type of all scalars of a list, None if they have several, or for another value."""
    types = {*map(type, values)} if isinstance(values, list) else set()
    return next(iter(types)) if len(types) == 1 and types <= {str, int, float} else None


def _named_rows(names: Any, rows: Sequence[Any], is_found: bool = False) -> list[Object]:
    """Return rows as objects, none if they are not; `is_found`: whether the names are so by what stands below."""
    if not rows or not isinstance(names, list):
        return []
    names = [name.get("name") if isinstance(name, dict) else name for name in names]
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        return []
    if any(not isinstance(row, list | tuple) or len(row) != len(names) for row in rows):
        return []
    cells = [CellRow(0, list(map(scalar_text, row))) for row in (names, *rows[:SAMPLE])] if is_found else []
    return [dict(zip(names, row, strict=True)) for row in rows] if not cells or header_evidence(cells) > 0 else []


def entries(value: Object, in_row: bool = True) -> list[Object]:
    """Return the objects of a mapping from ids or names to objects alike; none for any other object.

    >>> ports = {"web": {"port": 80, "owner": "Tuva"}, "mail": {"port": 25, "owner": "Geir"}}
    >>> entries(ports), entries(ports, in_row=False)[1]
    ([], {'id': 'mail', 'port': 25, 'owner': 'Geir'})
    """
    objects = list(value.values())
    if len(objects) < 2 or not all(isinstance(item, dict) for item in objects):
        return []
    common = set.intersection(*map(set, objects))
    are_ids = len(common) > 1 and all(any(map(str.isdigit, str(key))) for key in value)
    are_named = not in_row and len(common) > 1 and all({*item} == common and _is_nameless(item) for item in objects)
    if not common or (len(objects) < _MIN_MAP and not (are_ids or are_named)):
        return []
    return [{("key" if "id" in item else "id"): key, **item} for key, item in value.items()]


def _is_nameless(value: Object) -> bool:
    """Return whether an object says a text, and not its name; one of numbers is a value, as a point is."""
    said = any(isinstance(part, str) and not is_number(part) for part in value.values())
    return said and _name_key(value) is None


def scalar_text(value: Any) -> str:
    """Return a scalar as text, without the tags of HTML in it; "" for null."""
    if value is None:
        return ""
    text = clean(metadata_text(value)).strip()
    if "<" in text and _MARKUP.search(text):
        from graphwright.data.formats.html import html_text

        return html_text(text).text
    return text


class Around(NamedTuple):
    """What is known of an object before it is written.

    `label`: the key of its list. `inherited`: fields of the objects around it. `given`: fields not in the text.
    """

    label: str = ""
    inherited: Sequence[Field] = ()
    given: Sequence[Field] = ()


_ALONE = Around()


@dataclass
class ObjectWriter:
    """Writer of objects into a text, with a record for each.

    A record is a line: "city: Graz; river: Mur." A line of an object in a list begins with the key of the list. A
    record of an object in a list has the scalars of the object around it, too, after that one's type: "orders.id".

    >>> writer = ObjectWriter(TextBuilder())
    >>> writer.write({"id": 7, "lines": [{"sku": "A", "pieces": 2}]}, "order")
    >>> writer.builder.text, [(record.type, [f[:2] for f in record.fields]) for record in writer.builder.records]
    ('id: 7.\\nlines: sku: A; pieces: 2.', [('order', [('id', '7')]), ('lines', [('sku', 'A'), ('pieces', '2'), \
('order.id', '7')])])
    """

    builder: TextBuilder
    values: int = 0

    def write(self, value: Object, kind: str, around: Around = _ALONE, each: bool = False) -> None:
        """Write an object; `each`: a line for each scalar."""
        parts = list(object_parts(value if each else unwrapped(value), in_row=not each))
        self.values += len(parts) + 1
        if self.values > _MAX_VALUES:
            raise UnreadableError(f"more than {_MAX_VALUES:,} values; split it")
        place = len(self.builder.records)
        start, written = self._cells([part for part in parts if isinstance(part, Cell)], around.label, each)
        fields = (*around.given, *written)
        if fields:
            self.builder.records.append(Record(kind, (), start, start))
        count, longest = _MAX_INHERITED
        own = [f._replace(name=f"{kind}.{f.name}") for f in fields if "." not in f.name and len(f.text) <= longest]
        for part in parts:
            for item in part.objects if isinstance(part, Nested) else ():
                inner = Around(part.path, [*own, *around.inherited][:count])
                self.write(item, part.path.rpartition(".")[2] or kind, inner)
        if fields:
            self.builder.records[place] = Record(kind, (*fields, *around.inherited), start, self.builder.size)

    def _cells(self, cells: Sequence[Cell], label: str, each: bool) -> tuple[int, tuple[Field, ...]]:
        """Write scalars; return where they begin, and their fields."""
        fields: list[Field] = []
        starts: list[int] = []
        for line in _lines(cells, each):
            text = f"{label}: " if label else ""
            spans: list[tuple[int, int]] = []
            for cell in line:
                text += _before(cell, line[len(spans) - 1] if spans else None)
                spans.append((len(text), len(text) + len(cell.text)))
                text += cell.text
            starts.append(self.builder.line(text if text[-1] in ".!?" else f"{text}."))
            shifted = ((starts[-1] + start, starts[-1] + end) for start, end in spans)
            fields += [Field(cell.path, cell.text, *span) for cell, span in zip(line, shifted, strict=True)]
        return (starts or [self.builder.size])[0], tuple(fields)


def _before(cell: Cell, last: Cell | None) -> str:
    """Return what stands between the last cell of a line and the next: the scalars of one list share its path."""
    if last is not None and last.path == cell.path:
        return ", "
    separator = ":\n" if "\n" in cell.text else ": "
    return f"{'' if last is None else '; '}{cell.path}{separator if cell.path else ''}"


def _lines(cells: Sequence[Cell], each: bool) -> list[list[Cell]]:
    """Divide cells into lines: one for each, or one for all but texts of several lines."""
    lines: list[list[Cell]] = []
    for cell in cells:
        repeated = bool(lines) and lines[-1][-1].path == cell.path
        if (each and not repeated) or not lines or "\n" in cell.text or "\n" in lines[-1][-1].text:
            lines.append([])
        lines[-1].append(cell)
    return lines


def object_file(value: Any, kind: str) -> Extracted | None:
    """Return the text and the records of one object, or of a list of objects; None for neither.

    An object of ids and objects alike is a list of these, and so is a table. An object around a list of its own name (a
    file "issues" with a total and "issues") is the document of them.
    """
    writer, value = ObjectWriter(TextBuilder()), with_rows(value)
    if isinstance(value, dict) and not entries(value, in_row=False):
        parts = list(object_parts(value, in_row=False))
        lists = {part.path.rpartition(".")[2].casefold() for part in parts if isinstance(part, Nested)}
        writer.write(value, DOCUMENT if kind.casefold() in lists else kind, each=True)
    else:
        parts = list(object_parts({kind: value}, in_row=False))
        if not any(isinstance(part, Nested) for part in parts):
            return None
        for part in parts:
            for item in part.objects if isinstance(part, Nested) else [{"": part.text}]:
                writer.write(item, kind)
                writer.builder.blank()
    return writer.builder.extracted()


def object_row(value: Object, kind: str) -> Extracted:
    """Return an object as a sentence, with what is nested in it as lines after it, and its records."""
    writer = ObjectWriter(TextBuilder())
    writer.write(value, kind)
    return writer.builder.extracted()


def passage_with_object(text: str, value: Object, kind: str) -> tuple[str, tuple[Record, ...]]:
    """Return a passage with what is nested in the object around it as lines after it, and the object's records.

    The scalars of the object, and those under `metadata`, are fields only: the passage does not say them.

    >>> text, records = passage_with_object("It is high.", {"id": 7, "user": {"name": "Anna"}}, "issue")
    >>> text.splitlines(), records[0].fields[1]
    (['It is high.', '', 'user: Anna.'], Field(name='user', text='Anna', start=19, end=23))
    """
    lifted = value.get("metadata")
    flat = {**(lifted if isinstance(lifted, dict) else {}), **value}
    silent = {key: part for key, part in flat.items() if key not in value or not isinstance(part, dict | list)}
    fields = [Field(*part) for part in object_parts(silent) if isinstance(part, Cell)]
    builder = TextBuilder()
    builder.block(text)
    builder.blank()
    writer = ObjectWriter(builder)
    around = Around(given=fields)
    writer.write({key: part for key, part in value.items() if key not in silent and key != "metadata"}, kind, around)
    if len(builder.text) > len(text.strip()):
        text = builder.text
    first, *rest = writer.builder.records or [Record("", (), 0, 0)]
    return text, ((first._replace(start=0, end=len(text)), *rest) if first.fields else ())
