"""Experiments as files: what is compared on what, in TOML, to be kept, changed and run again."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from graphwright.data.dataset import Source
from graphwright.data.decoding import existing
from graphwright.errors import DataError, OptionError
from graphwright.evaluate.entries import Entry, entries, entry_of, plain, swept
from graphwright.evaluate.experiment import Experiment
from graphwright.files import write_text

__all__ = ["read_plan", "write_plan"]

_NONE = "None"  # TOML has no word for it


def read_plan(path: Path | str, **given: Any) -> Experiment:
    """Return the experiment that a file describes.

    Keys are the arguments of Experiment; `data`, `index`, and `questions` that are a path, start from the file.
    `methods` is a list, or a table of labels with what each is: a method, with options if wanted, or an expression; or
    a table with `method` and `options`. `sweep` is a table of options with the values of each. `given`: arguments that
    take the place of the file's. Raises DataError for what cannot be read, and as Experiment does.

        data = "../musique"
        limit = 200
        baseline = "vector"
        [methods]
        vector = "vector"
        wide = "ppr(top_k=40)"
        own = "VectorSearch(ix.passages) % 10 >> ToPassages()"
        [sweep]
        "ppr.restart" = [0.15, 0.5]
    """
    path = existing(path)
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is no TOML file: {error}.") from None
    known = [field.name for field in fields(Experiment)]
    unknown = sorted(said.keys() - set(known))
    if unknown:
        raise DataError(f"{path} has {unknown[0]!r}, which is no part of an experiment; there are {', '.join(known)}.")
    said |= given
    missing = [name for name in ("data", "methods") if name not in said]
    if missing:
        raise DataError(f"{path} does not say {' or '.join(missing)}: what is to be compared, on what.")
    if "data" not in given:
        said["data"] = path.parent / _text(path, "data", said["data"])
    else:
        said["data"] = Path(said["data"])
    if "index" in said:
        said["index"] = Path(said["index"]) if "index" in given else path.parent / _text(path, "index", said["index"])
    asked = said.get("questions")
    if "questions" not in given and isinstance(asked, str) and len(Path(asked).parts) > 1:
        said["questions"] = str(path.parent / asked)
    if isinstance(said.get("sweep"), Mapping):
        said["sweep"] = {option: _swept(path, option, some) for option, some in said["sweep"].items()}
    if isinstance(said["methods"], Mapping):
        said["methods"] = [_labelled(path, name, one) for name, one in said["methods"].items()]
    try:
        return Experiment(**said)
    except TypeError as error:
        raise DataError(f"{path}: {error}.") from None


def write_plan(path: Path, experiment: Experiment) -> None:
    """Write an experiment as a file that `read_plan` reads back, with paths from the root.

    Functions are left out, and what has objects for options: a comment says so.
    """
    apart = ("data", "methods", "sweep", "index")
    index = None if experiment.index is None else str(Path(experiment.index).resolve())
    written: dict[str, object] = {"data": str(Path(experiment.data).resolve()), "index": index}
    written |= {f.name: getattr(experiment, f.name) for f in fields(Experiment) if f.name not in apart}
    written |= {"metrics": experiment.metrics or None, "questions": _asked(experiment)}
    lines = [f"{name} = {_value(value)}" for name, value in written.items() if value not in (None, "")]
    methods, sweep = entries(experiment.methods), swept(experiment.sweep)
    lines += [f"# {_value(one.name)[1:-1]} is {_what(one)}, and not written here" for one in methods if not one.source]
    lines += [f"# sweep.{option} has objects, and is not written here" for option in sweep if not plain(sweep[option])]
    lines += ["", "[methods]", *(f"{_value(one.name)} = {_value(one.source)}" for one in methods if one.source)]
    if experiment.sweep:
        lines += ["", "[sweep]"]
        lines += [f"{_value(option)} = {_value(some)}" for option, some in sweep.items() if plain(some)]
    write_text(path, "\n".join(lines) + "\n")


def _asked(experiment: Experiment) -> str:
    """Return which questions are asked: a file that is not among the data by its path from the root."""
    source = Source.of(experiment.data, experiment.questions) if experiment.questions else None
    elsewhere = source is not None and source.questions is not None and not source.has_questions_inside
    return str(Path(experiment.questions).resolve()) if elsewhere else str(experiment.questions)


def _what(entry: Entry) -> str:
    return "made with objects" if isinstance(entry.method, str) else "a function"


def _labelled(path: Path, name: str, said: object) -> Entry:
    if isinstance(said, str):
        return entry_of(said, name)
    if isinstance(said, Mapping) and isinstance(said.get("method"), str) and said.keys() <= {"method", "options"}:
        return entry_of(Entry(name, said["method"], dict(said.get("options", {}))))
    raise DataError(
        f"{path}: methods.{name} is {said!r}; write a name, an expression, or {{method = ..., options = {{...}}}}."
    )


def _swept(path: Path, option: str, some: object) -> list[Any]:
    if not isinstance(some, list):
        raise DataError(f"{path}: sweep.{option} is {some!r}, and is a list of values.")
    return [None if value == _NONE else value for value in some]


def _text(path: Path, name: str, value: object) -> str:
    if not isinstance(value, str):
        raise DataError(f"{path}: {name} is {value!r}, and is a text.")
    return value


def _value(value: object) -> str:
    """Write a value as TOML does. Raises OptionError for one that it has no form for."""
    match value:
        case None:
            return json.dumps(_NONE)
        case bool() | int() | float():
            return json.dumps(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            return "{" + ", ".join(f"{_value(key)} = {_value(one)}" for key, one in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_value, value)) + "]"
    raise OptionError(f"{value!r} cannot be written to an experiment's file; give texts, numbers and lists of these.")
