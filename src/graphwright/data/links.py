"""What documents refer to: ids that come with them, pairs in a file beside them, and the hyperlinks of files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from graphwright.data.base import Skipped
from graphwright.data.decoding import clean, lines

__all__ = ["file_beside", "links_of", "read_links", "resolved"]

# An address with a scheme, or one that begins at the root of a site.
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\]")


def links_of(value: object) -> tuple[str, ...]:
    """Return the ids in a record's field: a list of texts or whole numbers, or one text that parts them.

    A text is parted by semicolons where it has any, so that ids may hold spaces, else by white space.
    What is no id in a list is passed over.

    >>> links_of(["a b", 7, None]), links_of("a b"), links_of("a b; c")
    (('a b', '7'), ('a', 'b'), ('a b', 'c'))
    """
    if isinstance(value, str):
        parts = value.split(";") if ";" in value else value.split()
    elif isinstance(value, list | tuple):
        parts = [str(one) for one in value if isinstance(one, str | int) and not isinstance(one, bool)]
    else:
        parts = []
    return tuple(dict.fromkeys(filter(None, (clean(part).strip() for part in parts))))


def file_beside(corpus: Path) -> Path | None:
    """Return the links.tsv, perhaps packed, in the folder of a corpus.jsonl; None for another file, or without one."""
    if corpus.name not in ("corpus.jsonl", "corpus.jsonl.gz"):
        return None
    both = (corpus.with_name("links.tsv"), corpus.with_name("links.tsv.gz"))
    return next((path for path in both if path.is_file()), None)


def read_links(path: Path) -> tuple[dict[str, list[str]], list[Skipped]]:
    """Return the ids that each document of a links.tsv refers to, and its lines that are no pair.

    A line holds a document's id and, after a tab, that of one that it refers to; what stands behind
    another tab is left aside. Empty lines and those that begin with `#` are passed over. A file
    without any pair gives one `Skipped` for all of it.
    """
    found: dict[str, list[str]] = {}
    broken: list[Skipped] = []
    for number, pair in _pairs(path):
        if isinstance(pair, str):
            broken.append(Skipped(f"{path}:{number}", f"not two ids of documents with a tab between: {pair[:40]!r}"))
        else:
            found.setdefault(pair[0], []).append(pair[1])
    if broken and not found:
        broken = [Skipped(str(path), f"no links: {broken[0].reason}")]
    return found, broken


def _pairs(path: Path) -> Iterator[tuple[int, tuple[str, str] | str]]:
    """Yield the lines that say something by number: two ids, or the line where it has not two."""
    for number, line in enumerate(lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        source, target = (clean(cell).strip().lstrip("\ufeff") for cell in f"{line}\t".split("\t")[:2])
        yield number, (source, target) if source and target else line


def resolved(name: str, targets: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the files that a file's hyperlinks lead to, each once.

    `name`: the file's own, from the folder that is read. Addresses of other sites, of parts of the same
    file and of what lies outside of the folder are left out.

    >>> resolved("docs/a.md", ["b%20c.md#top", "../index.html?x", "#top", "a.md", "https://d.org", "../../e.md"])
    ('docs/b c.md', 'index.html')
    """
    folder, found = posixpath.dirname(name), dict[str, None]()
    for target in map(str.strip, targets):
        path = unquote(re.split("[?#]", target, maxsplit=1)[0])
        if path and not _ELSEWHERE.match(target):
            whole = clean(posixpath.normpath(posixpath.join(folder, path)))
            if whole not in (name, ".", "..") and not whole.startswith("../"):
                found[whole] = None
    return tuple(found)
