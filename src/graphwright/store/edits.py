"""Edits by hand of a graph: values, each of which says what changes, by whom, when and why.

An edit names entities by their names, never by numbers, so that it holds for any set of documents. The merge applies
all edits in order, so that the graph is a function of the import, the documents and the edits (`build.apply_edits`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from graphwright.errors import OptionError, meant


@dataclass(frozen=True)
class Change:
    """What an edit changes. A subclass is one kind of change; its fields are names and texts."""

    kind: ClassVar[str]
    pattern: ClassVar[str]
    named: ClassVar[str] = ""  # the field with the name that it gives an entity

    def __post_init__(self) -> None:
        for field in fields(self):
            value, several = getattr(self, field.name), field.type != "str"
            values = tuple(value) if several and isinstance(value, tuple | list) else (value,)
            if not values or not all(isinstance(text, str) for text in values) or (several and value in values):
                wanted = "a list of texts, at least one" if several else "a text"
                raise OptionError(f"{field.name} of the edit {self.kind!r} is {value!r}; it must be {wanted}.")
            if any("\0" in text or (not text.strip() and field.name not in _MAY_BE_EMPTY) for text in values):
                raise OptionError(f"{field.name} of the edit {self.kind!r} is empty or holds a NUL; give a text.")
            if several:
                object.__setattr__(self, field.name, values)

    @property
    def words(self) -> str:
        """The change in words.

        >>> MergeEntities(["Gratz", "Graetz"], "Graz").words
        'merge Gratz, Graetz into Graz'
        """
        texts = {field.name: getattr(self, field.name) for field in fields(self)}
        shown = {name: text if isinstance(text, str) else ", ".join(text) for name, text in texts.items()}
        return self.pattern.format(**shown)

    @property
    def entities(self) -> tuple[str, ...]:
        """The names of entities in it."""
        fields = ("name", "to", "into", "first", "second", "head", "tail")
        return *(getattr(self, field) for field in fields if hasattr(self, field)), *getattr(self, "names", ())

    @property
    def new_name(self) -> str:
        """The name that it gives an entity, "" for none."""
        return str(getattr(self, self.named)) if self.named else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the kind and the fields as JSON values."""
        return {"kind": self.kind, **asdict(self)}


_MAY_BE_EMPTY = ("description", "text", "type")


@dataclass(frozen=True)
class MergeEntities(Change):
    """Entities are one: all that is said of `names` is said of `into`, which keeps its name."""

    kind, pattern = "merge", "merge {names} into {into}"
    names: tuple[str, ...]
    into: str


@dataclass(frozen=True)
class RenameEntity(Change):
    """An entity has another name, or another spelling of its name."""

    kind, pattern, named = "rename", "rename {name} to {to}", "to"
    name: str
    to: str


@dataclass(frozen=True)
class RetypeEntity(Change):
    """An entity is of another type; "" for none."""

    kind, pattern = "retype", "retype {name} as {type}"
    name: str
    type: str


@dataclass(frozen=True)
class DeleteEntity(Change):
    """A name names nothing: its mentions and statements are left out."""

    kind, pattern = "delete", "delete {name}"
    name: str


@dataclass(frozen=True)
class SplitEntity(Change):
    """In these documents, by id, a name means another entity: a new one, or one that exists."""

    kind, pattern, named = "split", "split {name} in {documents} off as {to}", "to"
    name: str
    documents: tuple[str, ...]
    to: str


@dataclass(frozen=True)
class KeepApart(Change):
    """Two names mean different things: they are neither merged by their likeness nor suggested as duplicates."""

    kind, pattern = "keep-apart", "keep {first} and {second} apart"
    first: str
    second: str


@dataclass(frozen=True)
class DeleteStatement(Change):
    """A statement is wrong, wherever it was extracted: it is left out."""

    kind, pattern = "delete-statement", "delete {head} — {relation} — {tail}"
    head: str
    relation: str
    tail: str


@dataclass(frozen=True)
class AddEntity(Change):
    """An entity that the documents do not name, or that extraction has missed."""

    kind, pattern, named = "add", "add {name}", "name"
    name: str
    type: str = ""
    description: str = ""


@dataclass(frozen=True)
class AddStatement(Change):
    """A statement about two entities; `text`: the sentence that states it (default: head, relation and tail)."""

    kind, pattern = "add-statement", "add {head} — {relation} — {tail}"
    head: str
    relation: str
    tail: str
    text: str = ""


KINDS: dict[str, type[Change]] = {kind.kind: kind for kind in Change.__subclasses__()}  # the kinds of changes by name


@dataclass(frozen=True)
class Edit:
    """A change with its author and time (ISO 8601, UTC). The id is a digest of all of them.

    `idle`: why it changes nothing now, as where the document was removed that named its entity; "" if it takes effect.
    """

    change: Change
    time: str
    who: str = ""
    why: str = ""
    idle: str = ""

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits."""
        return hashlib.blake2b(json.dumps(self.to_dict(), sort_keys=True).encode(), digest_size=6).hexdigest()

    @property
    def is_addition(self) -> bool:
        """Whether it states something new, and so has a passage of its own."""
        return isinstance(self.change, AddEntity | AddStatement)

    def following(self, moved: Mapping[str, str]) -> Edit:
        """Return the edit with the new ids of moved documents, by their earlier ones."""
        if not isinstance(self.change, SplitEntity):
            return self
        documents = tuple(moved.get(id, id) for id in self.change.documents)
        return replace(self, change=replace(self.change, documents=documents))

    def to_dict(self) -> dict[str, Any]:
        """Return what the edit consists of as JSON values."""
        return {"change": self.change.to_dict(), "time": self.time, "who": self.who, "why": self.why}

    def shown(self) -> dict[str, Any]:
        """Return the edit as JSON values with its id, in words, and whether it takes effect."""
        return {"id": self.id, "words": self.change.words, **self.to_dict(), "idle": self.idle}

    @classmethod
    def made(cls, changes: Iterable[Change | Edit], who: str = "", why: str = "") -> list[Edit]:
        """Return changes as edits of this time; edits stay as they are, but for `idle`."""
        now, edits = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"), list[Edit]()
        for change in changes:
            if not isinstance(change, Change | Edit):
                names = ", ".join(kind.__name__ for kind in KINDS.values())
                raise OptionError(f"{change!r} is not an edit; give one of {names}.")
            edits.append(replace(change, idle="") if isinstance(change, Edit) else cls(change, now, who, why))
        return edits

    @classmethod
    def of_dict(cls, value: object) -> Edit:
        """Return the edit that `to_dict` returned. Raises OptionError for anything else.

        >>> edit = Edit.made([RenameEntity("Graz", "Gratz")], "Ida", "old spelling")[0]
        >>> Edit.of_dict(edit.to_dict()) == edit
        True
        """
        names = ("time", "who", "why")
        if not isinstance(value, Mapping) or not all(isinstance(value.get(name), str) for name in names):
            raise OptionError(f"{value!r} is not an edit; it needs change, time, who and why, as an export has them.")
        return cls(change_of(value.get("change")), *(value[name] for name in names))


def change_of(value: object) -> Change:
    """Return the change that `Change.to_dict` returned. Raises OptionError for anything else.

    >>> change_of({"kind": "rename", "name": "Graz", "to": "Gratz"})
    RenameEntity(name='Graz', to='Gratz')
    """
    if not isinstance(value, Mapping):
        raise OptionError(f"{value!r} is not a change; give an object with the kind and its fields.")
    kind = KINDS.get(str(value.get("kind")))
    if kind is None:
        name = value.get("kind")
        raise OptionError(f"{name!r} is not a kind of edit; choose from {', '.join(KINDS)}.{meant(name, KINDS)}")
    given = {name: text for name, text in value.items() if name != "kind"}
    known = [field.name for field in fields(kind)]
    if unknown := [name for name in given if name not in known]:
        raise OptionError(f"the edit {kind.kind!r} has no field {unknown[0]!r}; it has {', '.join(known)}.")
    if missing := [name for name in known if name not in given and not hasattr(kind, name)]:
        raise OptionError(f"the edit {kind.kind!r} needs {missing[0]!r}; it has the fields {', '.join(known)}.")
    return kind(**given)
