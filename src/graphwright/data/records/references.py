"""Objects of a document that refer to others by id: the names of the others are added to them.

References are found as foreign keys are in databases: by the inclusion of the values of a key in those of another that
tells the objects of a list apart (Rostin et al., A Machine Learning Approach to Foreign Key Discovery, 2009).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from graphwright.data.records.grid import is_number
from graphwright.data.records.objects import entries
from graphwright.text.dates import date_text

Path: TypeAlias = tuple[str, ...]  # keys that lead to a value, without places in lists; "*": the id of its object

_ANY = "*"
_MAX_DEPTH = 40
_MAX_VALUES = 1_000_000  # of one document; a larger one stays as it is
_MAX_ID, _MAX_NAME = 100, 200  # characters
_CODE = re.compile(r"[^\W\d_a-z]{2,}|\S*[\d_@#$:/.-]\S*")  # AT, U12, in-progress, anna@example.org
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_A-Za-z]+")
_MAX_TARGETS = 16  # objects with one id
_LETTER = re.compile(r"[^\W\d_]")
_NAMES = {"name", "title", "label"}
_DISTINCT = 0.75  # share of names that differ


class _Target(NamedTuple):
    """An object that has an id: the path of the id and its place among the ids, and the key and text of its name."""

    path: Path
    place: int
    key: str
    name: str


def with_names(value: Any) -> Any:
    """Return a document of objects in which each reference by id is followed by the name of the object with that id.

    An id is a text without spaces that is no plain word, or a whole number, and tells the objects of a list apart. A
    number refers only under a key that names the list, as `customer_id` does. A key that is an id
    becomes the name. The name of an object is a text that is called one, else the first that differs in most objects.

    >>> people = [{"id": "U1", "name": "Mia"}, {"id": "U2", "name": "Jo"}]
    >>> with_names({"people": people, "tasks": [{"text": "Oil it", "by": ["U2"]}]})["tasks"]
    [{'text': 'Oil it', 'by': ['U2'], 'by.name': ['Jo']}]
    """
    objects = _Objects()
    objects.read(value)
    return objects.named(value) if objects.size <= _MAX_VALUES and objects.find() else value


class _Objects:
    """The texts of a document: by list and path those of each object, of which the document is number 0."""

    def __init__(self) -> None:
        self.columns: dict[Path, dict[Path, dict[int, list[str]]]] = defaultdict(dict)
        self.counts: Counter[Path] = Counter()
        self.size = self.objects = 0
        self.keys = set[Any]()
        self.targets: dict[str, list[_Target]] = defaultdict(list)
        self.sizes: Counter[Path] = Counter()  # ids of a path
        self.references: dict[Path, dict[str, _Target]] = {}

    def read(self, value: Any, path: Path = (), base: Path = (), owner: int = 0) -> None:
        """Add what is in a value; `base`: the path of the list of its object."""
        self.size += 1
        if self.size > _MAX_VALUES or len(path) > _MAX_DEPTH:
            return
        if isinstance(value, dict):
            is_map = bool(entries(value))
            self.keys.update(value)
            for key, part in value.items():
                at = (*path, _ANY if is_map else str(key))
                if is_map:
                    self._begin(at)
                    self._add(at, (*at, _ANY), self.objects, str(key))
                self.read(part, at, *((at, self.objects) if is_map else (base, owner)))
        elif isinstance(value, list | tuple):
            for item in value:
                if isinstance(item, dict):
                    self._begin(path)
                    self.read(item, path, path, self.objects)
                else:
                    self.read(item, path, base, owner)
        elif isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            self._add(base, path, owner, str(value))

    def _add(self, base: Path, path: Path, owner: int, text: str) -> None:
        self.columns[base].setdefault(path, {}).setdefault(owner, []).append(text)

    def _begin(self, base: Path) -> None:
        self.objects += 1
        self.counts[base] += 1

    def find(self) -> bool:
        """Find the ids of objects, and what refers to them; return whether anything does."""
        places: dict[Path, int] = {}
        for base, count in self.counts.items():
            columns = self.columns[base]
            ids = [path for path, texts in columns.items() if len(texts) == count and _are_ids(texts.values())]
            named = _name_path(columns, len(base), count) or ()
            for place, path in enumerate(ids):
                places[path], self.sizes[path] = place, count
                names = columns[named] if named not in ((), path) else {}
                for owner, (text,) in columns[path].items():
                    if owner in names and len(self.targets[text]) < _MAX_TARGETS:
                        self.targets[text].append(_Target(path, place, named[-1], names[owner][0]))
        for path, texts in ((path, texts) for columns in self.columns.values() for path, texts in columns.items()):
            values = {text for each in texts.values() for text in each}
            if known := self._target(path, values, places):
                own = {text: target for text in values for target in self.targets.get(text, ()) if target.path == known}
                self.references.setdefault(path, {}).update(own)
        return bool(self.references) or not self.targets.keys().isdisjoint(self.keys)

    def _target(self, path: Path, values: set[str], places: Mapping[Path, int]) -> Path | None:
        """Return the path of the ids that the values of a path are; None if they are none, or may be of two lists."""
        counts = Counter((t.place, t.path) for text in values for t in self.targets.get(text, ()) if t.path != path)
        if (own := places.get(path)) is not None:  # ids themselves: they refer to those that come first, or are more
            counts = Counter({at: n for at, n in counts.items() if at[0] < own or self.sizes[at[1]] > len(values)})
        if all(map(str.isdecimal, values)):
            likeness = {at: (_likeness(path, at[1]), -at[0]) for at, n in counts.items() if n == len(values)}
            best = [at for at, score in likeness.items() if score[0] and score == max(likeness.values())]
            # The number of a list's rows is no id of one: a key names the first ids of a list, or these by their key.
            best = [at for at in best if not at[0] or _words(at[1][-1]) <= _words(path[-1])]
            return best[0][1] if len(best) == 1 else None
        first = min(counts, key=lambda at: (-counts[at], at[0]), default=None)
        return first[1] if first and 2 * counts[first] > len(values) else None

    def named(self, value: Any, path: Path = ()) -> Any:
        """Return a value with the names of the objects that it refers to."""
        if len(path) > _MAX_DEPTH or not isinstance(value, dict | list | tuple):
            return value
        if not isinstance(value, dict):
            return [self.named(item, path) for item in value]
        is_map = bool(entries(value))
        labels: dict[Any, str] = {} if is_map else self._labels(value)
        result: dict[Any, Any] = {}
        for key, part in value.items():
            at = (*path, _ANY if is_map else str(key))
            result[labels.get(key, key)] = self.named(part, at)
            known = self.references.get(at, {})
            texts = [part] if isinstance(part, str | int) else part if isinstance(part, list) else []
            targets = [known[str(text)] for text in texts if isinstance(text, str | int) and str(text) in known]
            names = [target.name for target in targets if target.name not in value.values()]
            if names:
                result[f"{key}.{targets[0].key}"] = names if isinstance(part, list) else names[0]
        return result

    def _labels(self, value: Mapping[Any, Any]) -> dict[Any, str]:
        """Return the names for the keys of an object most of which are ids of one list."""
        ids = {key: self.targets[key][0] for key in value if key in self.targets and not str(key).isdecimal()}
        if 2 * len(ids) <= len(value) or len({target.path for target in ids.values()}) > 1:
            return {}
        names = {key: target.name for key, target in ids.items()}
        return names if len({*value, *names.values()}) == len(value) + len(names) else {}


def _are_ids(texts: Collection[Sequence[str]]) -> bool:
    """Return whether the texts of a list of objects are ids: one each, none twice."""
    each = [of[0] for of in texts if len(of) == 1]
    return len({*each}) == len(each) == len(texts) and all(map(_is_id, each))


def _is_id(text: str) -> bool:
    if len(text) > _MAX_ID or any(map(str.isspace, text)):
        return False
    return text.isdecimal() or bool(_CODE.fullmatch(text) and not is_number(text) and not date_text(text))


def _name_path(columns: Mapping[Path, Mapping[int, Sequence[str]]], depth: int, count: int) -> Path | None:
    """Return the path of the names of `count` objects; None if they have none."""
    candidates = []
    for place, (path, texts) in enumerate(columns.items()):
        each = [of[0] for of in texts.values() if len(of) == 1 and len(of[0]) <= _MAX_NAME and "\n" not in of[0]]
        is_called = not _NAMES.isdisjoint(_words(path[-1]))
        names = [text for text in each if is_called or (not text[0].islower() and not _is_id(text))]
        if 2 * sum(_LETTER.search(text) is not None for text in names) > count and len({*each}) >= _DISTINCT * len(
            texts
        ):
            candidates.append((len(path), not is_called, place, path))
    return min(candidates)[-1] if candidates else None


def _likeness(path: Path, target: Path) -> int:
    """Return whether a key names a list (2), or the key of its ids (1): `customer_id` names `customers`."""
    words, ids = _words(path[-1]), _words(target[-1])
    lists = [word for key in target[:-1] for word in _words(key)]
    if any(len(word) > 2 and name.startswith(word[:-1]) for word in words for name in lists):
        return 2
    return int(len(ids) > 1 and ids <= words)


def _words(key: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(key)}
