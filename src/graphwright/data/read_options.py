"""Options of reading: the choice of files in a folder, and of the columns of rows."""

from __future__ import annotations

from dataclasses import dataclass, fields

from graphwright.errors import OptionError


@dataclass(frozen=True)
class ReadOptions:
    """Options of reading files and folders.

    `include`: patterns, as in a `.gitignore`, of the only files of a folder to read. `exclude`: patterns of files and
    folders to leave out. `ignore`: leave out what a `.gitignore` names, build folders, style sheets, and the scripts of
    pages. `text_columns`: columns of rows whose values are the text; one column gives its value, several give "column:
    value". `id_column`: the column of ids, which are taken as they are. `outside`: follow links of a folder to files
    outside of it; a server does not, as others may write to its folders.

    >>> ReadOptions(include=("*.md",), exclude=("drafts/",))
    ReadOptions(include=('*.md',), exclude=('drafts/',), ignore=True, text_columns=(), id_column='', outside=True)
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignore: bool = True
    text_columns: tuple[str, ...] = ()
    id_column: str = ""
    outside: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, tuple):
                if not isinstance(value, tuple) or not all(isinstance(part, str) and part.strip() for part in value):
                    raise OptionError(
                        f"ReadOptions: {field.name} is {value!r}; give a tuple of texts that are not empty."
                    )
            elif not isinstance(value, type(field.default)):
                raise OptionError(f"ReadOptions: {field.name} is {value!r}; give a {type(field.default).__name__}.")
