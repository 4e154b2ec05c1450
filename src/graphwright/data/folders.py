"""Files of folders, in a fixed order, without those that are no documents; and the options of reading."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from pathspec import GitIgnoreSpec

from graphwright.data.document import Skipped
from graphwright.errors import OptionError


class Describer(Protocol):
    """A model that describes pictures."""

    @property
    def model(self) -> str:
        """Name of the model."""
        ...

    def __call__(self, png: bytes, source: str) -> str:
        """Return what a picture of a file shows. Raises ModelError if the model does not say it."""
        ...


@dataclass(frozen=True)
class ReadOptions:
    """Options of reading files and folders.

    `include`: patterns, as in a `.gitignore`, of the only files of a folder to read. `exclude`: patterns of files and
    folders to leave out. `ignore`: leave out what a `.gitignore` names, build folders, style sheets, and the scripts of
    pages. `text_columns`: columns of rows whose values are the text; one column gives its value, several give "column:
    value". `id_column`: the column of ids, which are taken as they are. `outside`: follow links of a folder to files
    outside of it; a server does not, as others may write to its folders. `recognised`: an SQLite file that keeps the
    text recognised in pictures, by their content (an index has its own). `describe`: describes pictures in files, for
    documents of their own; a `graphwright.extract.PictureDescriber`.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore: bool = True
    text_columns: tuple[str, ...] = ()
    id_column: str = ""
    outside: bool = True
    recognised: Path | None = None
    describe: Describer | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, tuple):
                if not isinstance(value, tuple) or not all(isinstance(part, str) and part.strip() for part in value):
                    raise OptionError(
                        f"ReadOptions: {field.name} is {value!r}; give a tuple of texts that are not empty."
                    )
            elif field.default is not None and not isinstance(value, type(field.default)):
                raise OptionError(f"ReadOptions: {field.name} is {value!r}; give a {type(field.default).__name__}.")
        if not (self.describe is None or callable(self.describe)):
            raise OptionError(f"ReadOptions: describe is {self.describe!r}; give a PictureDescriber.")


_INDEX = frozenset(("index.sqlite", "CURRENT"))  # a folder with these files is an index
_IGNORE = ".gitignore"
_BUILT = frozenset(("node_modules", "bower_components", "__pycache__", "site-packages", "_build"))
_MARKED = frozenset(("pyvenv.cfg", "CACHEDIR.TAG"))  # a folder with one of these files is built
_BUILDERS = {  # build folders, each recognised by one of these files beside it
    "build": frozenset(
        ("package.json", "pyproject.toml", "setup.py", "CMakeLists.txt", "Makefile", "build.gradle", "build.gradle.kts")
    ),
    "dist": frozenset(("package.json", "pyproject.toml", "setup.py")),
    "target": frozenset(("Cargo.toml", "pom.xml", "build.sbt")),
}
_STYLES = (".css", ".scss", ".sass", ".less", ".map", ".min.js", ".min.mjs")
_SCRIPTS, _PAGES = (".js", ".mjs"), (".html", ".htm", ".xhtml")


def files(
    roots: Sequence[Path], skip: Callable[[Skipped], None], excluded: frozenset[Path], options: ReadOptions
) -> Iterator[tuple[Path, str]]:
    """Yield each file with its id; files given themselves always. Raises OptionError for a pattern it cannot read."""
    include, exclude = _patterns("include", options.include), _patterns("exclude", options.exclude)
    for path in roots:
        if path.is_dir():
            yield from _Folder(path, skip, excluded, include, exclude, options.ignore, options.outside).files()
        else:
            yield path, path.name


def chooser(options: ReadOptions) -> Callable[[str], bool]:
    """Return a function of a path that tells whether the patterns of the options choose the file.

    >>> chosen = chooser(ReadOptions(include=("*.md",), exclude=("drafts/",)))
    >>> chosen("a/b.md"), chosen("a/drafts/b.md"), chosen("b.txt")
    (True, False, False)
    """
    include, exclude = _patterns("include", options.include), _patterns("exclude", options.exclude)
    return lambda path: (
        (include is None or include.match_file(path)) and not (exclude is not None and exclude.match_file(path))
    )


def _patterns(name: str, lines: Iterable[str]) -> GitIgnoreSpec | None:
    try:
        return GitIgnoreSpec.from_lines(lines) if lines else None
    except ValueError as error:
        raise OptionError(
            f"{name} {list(lines)}: {error}. Give patterns as in a .gitignore, such as '*.md'."
        ) from error


@dataclass(frozen=True)
class _Rules:
    """The rules of one `.gitignore` for what is below its folder, given without links."""

    file: Path
    folder: Path
    spec: GitIgnoreSpec

    def ignores(self, path: Path, mark: str) -> bool | None:
        """Return whether these rules exclude a path, with the mark "/" a folder; None if no rule applies."""
        return self.spec.check_file(path.relative_to(self.folder).as_posix() + mark).include


@dataclass(frozen=True)
class _Folder:
    """A folder to read, with its exclusions."""

    root: Path
    skip: Callable[[Skipped], None]
    excluded: frozenset[Path]
    include: GitIgnoreSpec | None
    exclude: GitIgnoreSpec | None
    ignore: bool
    outside: bool

    @cached_property
    def place(self) -> Path:
        """The folder without links."""
        return self.root.resolve()

    def files(self) -> Iterator[tuple[Path, str]]:

        def closed(error: OSError) -> None:
            self.skip(Skipped(str(error.filename), f"a folder that cannot be read: {error.strerror}", True))

        rules: dict[Path, tuple[_Rules, ...]] = {self.root.parent: self._rules_above()}
        scripts: dict[Path, str] = {self.root.parent: ""}  # owner of the scripts of a folder
        for path, folders, names in os.walk(self.root, onerror=closed):
            folder = Path(path)
            if set(names) >= _INDEX:
                folders.clear()
                self.skip(Skipped(path, "an index, not documents"))
                continue
            rules[folder] = (*rules[folder.parent], *self._rules_of(folder, names))
            scripts[folder] = _scripts_of(names) or scripts[folder.parent]
            folders[:] = sorted(name for name in folders if self._enters(folder, name, names, rules[folder]))
            for name in sorted(name for name in names if name[0] != "."):
                if self._reads(folder / name, rules[folder], scripts[folder]):
                    yield folder / name, (folder / name).relative_to(self.root).as_posix()

    def _enters(self, folder: Path, name: str, beside: Sequence[str], rules: tuple[_Rules, ...]) -> bool:
        """Return whether a folder is read; one that a rule excludes is reported."""
        entry = folder / name
        if name[0] == ".":
            return False
        if os.path.islink(entry):
            self.skip(Skipped(str(entry), "a link to a folder; only links to files are followed"))
            return False
        if entry.resolve() in self.excluded or self._excludes(entry, "/"):
            return False
        reason = _ignored(self.place / self._name(entry), "/", rules)
        reason = "a build folder" if self.ignore and _is_built(entry, beside) else reason
        if reason:
            self.skip(Skipped(str(entry), reason))
        return not reason

    def _reads(self, path: Path, rules: tuple[_Rules, ...], scripts: str) -> bool:
        """Return whether a file is read; one that a rule excludes is reported."""
        if self._excludes(path, "") or (self.include is not None and not self.include.match_file(self._name(path))):
            return False
        name = path.name.lower().removesuffix(".gz")
        reason = _ignored(self.place / self._name(path), "", rules)
        if self.ignore and not reason and name.endswith(_STYLES):
            reason = "a style sheet or a packed script"
        elif self.ignore and not reason and scripts == "pages" and name.endswith(_SCRIPTS):
            reason = "a script of the pages beside it"
        elif not reason and (target := _linked_file(path, self.place, self.excluded)):
            reason = f"a link to {target}, which is read itself"
        elif not (reason or self.outside) and _is_file_link(path) and not path.resolve().is_relative_to(self.place):
            reason = "a link to a file outside of the folder, which is not followed here"
        if reason:
            self.skip(Skipped(str(path), reason))
        return not reason

    def _excludes(self, path: Path, mark: str) -> bool:
        return self.exclude is not None and self.exclude.match_file(self._name(path) + mark)

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _rules_of(self, folder: Path, names: Sequence[str]) -> list[_Rules]:
        if not self.ignore or _IGNORE not in names:
            return []
        try:
            lines = (folder / _IGNORE).read_text(encoding="utf-8", errors="replace").splitlines()
            return [_Rules(folder / _IGNORE, folder.resolve(), GitIgnoreSpec.from_lines(lines))]
        except (OSError, ValueError) as error:
            self.skip(Skipped(str(folder / _IGNORE), f"its rules are ignored, because they cannot be read ({error})"))
        return []

    def _rules_above(self) -> tuple[_Rules, ...]:
        """Return the rules of the repository around the folder, none if they leave out the folder itself."""
        above = [self.place, *self.place.parents]
        top = next((at for at, folder in enumerate(above) if (folder / ".git").exists()), 0)
        rules: list[_Rules] = []
        for folder, inner in pairwise(reversed(above[: top + 1])):
            rules += self._rules_of(folder, [_IGNORE] if (folder / _IGNORE).is_file() else [])
            if _ignored(inner, "/", rules):
                return ()
        return tuple(rules)


def _ignored(path: Path, mark: str, rules: Sequence[_Rules]) -> str:
    """Return the reason why `.gitignore` files exclude a path, "" if they do not: the nearest file decides."""
    for rule in reversed(rules):
        if (ignores := rule.ignores(path, mark)) is not None:
            return f"left out by {rule.file}" if ignores else ""
    return ""


def _is_built(path: Path, beside: Sequence[str]) -> bool:
    named = path.name in _BUILT or path.name.endswith(".egg-info")
    built = named or not _BUILDERS.get(path.name, frozenset()).isdisjoint(beside)
    return built or any(os.path.isfile(path / name) for name in _MARKED)


def _scripts_of(names: Sequence[str]) -> str:
    """Return whether the files in a folder show that its scripts belong to pages or a program; "" if neither."""
    if "package.json" in names:
        return "program"
    return "pages" if any(name.lower().endswith(_PAGES) for name in names) else ""


def _is_file_link(path: Path) -> bool:
    """Return whether a path is a link to a file; false for a broken or circular link, and without permission."""
    return os.path.islink(path) and os.path.isfile(path)


def _linked_file(link: Path, root: Path, excluded: frozenset[Path]) -> str:
    """Return the target of a link to a file that is read with the folder anyway; else an empty string."""
    if not _is_file_link(link):
        return ""
    target = link.resolve()
    if not target.is_relative_to(root) or not excluded.isdisjoint(target.parents):
        return ""
    inside = target.relative_to(root)
    # An index is skipped with all its files, so a link is the only way to read one of them.
    if any(all(os.path.lexists(root / above / name) for name in _INDEX) for above in inside.parents):
        return ""
    return "" if any(part[0] == "." for part in inside.parts) else inside.as_posix()
