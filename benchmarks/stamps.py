"""The state of the code that made a result: a hash of the package, kept in every file of results.

A file of results is `{"code": {PART: [STATE, ...]}, "results": ...}`. PART names what was measured at one time, by the
keys that lead to it (`hotpotqa > light`, and "" for the whole file); the states of a part are those of all code that
took part in it, oldest first. Pages end with a line that names the states of the results that they show.

Comments, docstrings and files for readers (cards, notices, the browser's) are no part of the hash: they change no
figure. Code is compared as text, so that every version of Python finds the same hash.

The command line, the server and the adapters use the engine, which never imports them. So they are no part of its
hash, and a message that is put better leaves every figure of retrieval as it is. The benchmarks that run them, RUN_ALL,
name a second hash for them, after a hyphen: `0123456789ab-cdef01`.
"""

from __future__ import annotations

import ast
import fcntl
import io
import json
import os
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
INPUTS = ("scorer", "commands.json")
"""What lies among the results and is none: fitted models, and the times of `all.py`."""
RUN_ALL = ("adapters", "faults", "formats", "processes", "serve")
"""Scripts that run the command line, the server or an adapter."""
UNKNOWN = "unknown"  # of results that were made before states were kept
_LEFT_OUT = ("__pycache__", "static", "reference")
_LINE = re.compile(r"^States? of the code: (.*)\.$", re.MULTILINE)
_OUTER = ("cli", "serve", "adapters", "__main__.py")  # of the package: what the engine does not import
_work: list[Path] = []  # the folder of unfinished runs, set by `begin`


def package() -> Path:
    """Return the folder of the package that is measured."""
    spec = find_spec("graphwright")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("graphwright is not installed, and no folder of it is in PYTHONPATH.")
    return Path(spec.submodule_search_locations[0])


def state_of(folder: Path, *, whole: bool = False) -> str:
    """Return the state of the code in a folder: 12 digits of a hash of its modules, prompts and weights.

    `whole`: with 6 digits of the command line, the server and the adapters.
    """
    engine, outer = list[Path](), list[Path]()
    for file in _files(folder):
        (outer if file.relative_to(folder).parts[0] in _OUTER else engine).append(file)
    first = _hash(folder, engine)[:12]
    return f"{first}-{_hash(folder, outer)[:6]}" if whole else first


def _hash(folder: Path, paths: Sequence[Path]) -> str:
    digest = sha256()
    for path in paths:
        content = path.read_bytes()
        if path.suffix in (".py", ".pyi"):
            content = without_comments(content.decode("utf-8")).encode("utf-8")
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not set(path.relative_to(folder).parts[:-1]) & set(_LEFT_OUT)
        and path.suffix not in (".md", ".pyc")
    )


def without_comments(source: str) -> str:
    """Return a module without comments, docstrings, blank lines and spaces at the end of lines."""
    lines = [list(line) for line in source.splitlines()]
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            (row, first), (_, last) = token.start, token.end
            lines[row - 1][first:last] = [""] * (last - first)
    for first_row, last_row in _docstrings(ast.parse(source)):
        for row in range(first_row, last_row + 1):
            lines[row - 1] = []
    return "\n".join(text for line in lines if (text := "".join(line).rstrip())) + "\n"


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each string that stands alone as a statement."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.end_lineno or node.lineno


def state(script: str = "") -> str:
    """Return the present state of the package as a script's results name it; it is found anew after any change.

    `script`: by default the one that runs.
    """
    folder, name = package(), Path(script or sys.argv[0]).stem
    found = [(path, path.stat()) for path in _files(folder)]
    return _state(folder, name in RUN_ALL, tuple((str(path), of.st_mtime_ns, of.st_size) for path, of in found))


@cache
def _state(folder: Path, whole: bool, _: tuple[tuple[str, int, int], ...]) -> str:
    return state_of(folder, whole=whole)


# The states behind what is being measured


def begin(work: Path, older: str | None = None) -> Path:
    """Return the folder of this state for indexes and unfinished runs, so that none of another state is used.

    `older`: go on with those of an older state; all results then name both.
    """
    folder = work / (older or state())
    if older and not folder.is_dir():
        there = ", ".join(sorted(path.name for path in work.iterdir() if (path / "states").exists())) or "none"
        raise SystemExit(f"{work} has nothing of the state {older}; it has: {there}.")
    folder.mkdir(parents=True, exist_ok=True)
    _work[:] = [folder]
    made_by()
    return folder


def made_by() -> list[str]:
    """Return the states of the code behind the indexes and rows at hand, oldest first; the present one is the last.

    A change of the package while it is measured is noted here, too.
    """
    now = state()
    if not _work:
        return [now]
    file = _work[0] / "states"
    noted = file.read_text(encoding="utf-8").split() if file.exists() else []
    if now not in noted:
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"{now}\n")
    return list(dict.fromkeys([*noted, now]))


def line(states: Sequence[str]) -> str:
    """Return the line that pages end with."""
    if len(states) == 1:
        return f"State of the code: {states[0]}."
    return f"States of the code: {', '.join(states)}."


def together(states: Iterable[Sequence[str]]) -> list[str]:
    """Return all states once: the unknown one first, then as they come."""
    found = dict.fromkeys(state for each in states for state in each)
    return sorted(found, key=lambda state: state != UNKNOWN)


# Files of results


def read_stamped(path: Path) -> tuple[dict[str, list[str]], Any]:
    """Return the states of the parts of a file of results, and the results; {} and None where there is no file."""
    if not path.exists():
        return {}, None
    content = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(content, dict) and content.keys() == {"code", "results"}:
        return content["code"], content["results"]
    return {"": [UNKNOWN]}, content


def states_in(path: Path) -> list[str]:
    """Return the states behind a file of results or a page. An unknown one where it names none."""
    if path.suffix == ".json":
        return together(read_stamped(path)[0].values())
    named = _LINE.findall(path.read_text(encoding="utf-8"))
    return named[-1].split(", ") if named else [UNKNOWN]


def states_of(path: Path, *part: str) -> list[str]:
    """Return the states behind one part of the results in a file."""
    return _before(read_stamped(path)[0], _name(part))


def write_stamped(path: Path, results: Any, part: Sequence[str], states: Sequence[str]) -> list[str]:
    """Write results of which one part was measured by code of these states; return the states of the whole file.

    The other parts keep their states.
    """
    before, _ = read_stamped(path)
    code = {name: _before(before, name) for name in _parts(results, len(part))}
    code[_name(part)] = list(states)
    write_text(path, json.dumps({"code": code, "results": results}, indent=1, default=float) + "\n")
    return together(code.values())


def update_times(path: Path, name: str, took: Mapping[str, Any]) -> None:
    """Keep what a command took, in a file of its own kind: records by name of the command."""
    with alone(path.parent):
        times = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        write_text(path, json.dumps(dict(sorted({**times, name: took}.items())), indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file so that nobody reads half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _name(part: Sequence[str]) -> str:
    return " > ".join(part)


def _parts(results: Any, depth: int) -> Iterator[str]:
    """Yield the names of the parts at a depth; single numbers and texts beside them are none."""
    if depth == 0:
        yield ""
    elif isinstance(results, Mapping):
        for key, value in results.items():
            if isinstance(value, (Mapping, list)):
                for rest in _parts(value, depth - 1):
                    yield _name([str(key), *filter(None, [rest])])
    elif isinstance(results, list):
        yield ""


def _before(code: Mapping[str, list[str]], name: str) -> list[str]:
    """Return the states that a part had: its own, those of what it is a part of, or those of its own parts."""
    holding = [of for of in code if of in ("", name) or name.startswith(f"{of} > ")]
    inner = [of for of in code if name == "" or of.startswith(f"{name} > ")]
    chosen = [max(holding, key=len)] if holding else inner
    return together(code[of] for of in chosen) or [UNKNOWN]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let no other process write below a folder meanwhile."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
