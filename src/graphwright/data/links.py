"""Links between documents: ids in a record, pairs in a `links.tsv`, hyperlinks of files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from graphwright.data.decoding import clean, lines
from graphwright.data.document import Skipped

__all__ = ["links_file", "links_of", "read_links", "resolved"]

# An address with a scheme, or one relative to the root of a site.
_EXTERNAL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\]")


def links_of(value: object) -> tuple[str, ...]:
    """Return the ids in a field of a record: a list of texts or whole numbers, or one text with all of them.

    A text is split at semicolons if it has any, so that ids may contain spaces, else at white space.
    Other values in a list are ignored.

    >>> links_of(["a b", 7, None]), links_of("a b"), links_of("a b; c")
    (('a b', '7'), ('a', 'b'), ('a b', 'c'))
    """
    if isinstance(value, str):
        parts = value.split(";") if ";" in value else value.split()
    elif isinstance(value, list | tuple):
        parts = [str(item) for item in value if isinstance(item, str | int) and not isinstance(item, bool)]
    else:
        parts = []
    return tuple(dict.fromkeys(filter(None, (clean(part).strip() for part in parts))))


def links_file(corpus: Path) -> Path | None:
    """Return the `links.tsv` (or `.gz`) beside a `corpus.jsonl`; None for another file, or if there is none."""
    if corpus.name not in ("corpus.jsonl", "corpus.jsonl.gz"):
        return None
    candidates = (corpus.with_name("links.tsv"), corpus.with_name("links.tsv.gz"))
    return next((path for path in candidates if path.is_file()), None)


def read_links(path: Path) -> tuple[dict[str, list[str]], list[Skipped]]:
    """Return the link targets of each document in a `links.tsv`, and the lines that are not a pair of ids.

    A line holds the id of a document, a tab, and the id of a document that it links to; further columns are
    ignored, as are empty lines and lines that begin with `#`. A file without any pair gives one `Skipped`.
    """
    targets: dict[str, list[str]] = {}
    broken: list[Skipped] = []
    for number, pair in _pairs(path):
        if isinstance(pair, str):
            broken.append(Skipped(f"{path}:{number}", f"not two document ids separated by a tab: {pair[:40]!r}"))
        else:
            targets.setdefault(pair[0], []).append(pair[1])
    if broken and not targets:
        broken = [Skipped(str(path), f"no links: {broken[0].reason}")]
    return targets, broken


def _pairs(path: Path) -> Iterator[tuple[int, tuple[str, str] | str]]:
    """Yield line numbers with the two ids of the line, or with the line itself where it has no two ids."""
    for number, line in enumerate(lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        source, target = (clean(cell).strip().lstrip("\ufeff") for cell in f"{line}\t".split("\t")[:2])
        yield number, (source, target) if source and target else line


def resolved(name: str, targets: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the files that the hyperlinks of a file lead to, each once.

    `name` is the path of the file itself in the folder that is read. Links to other sites, within the same file and
    out of the folder are left out.

    >>> resolved("docs/a.md", ["b%20c.md#top", "../index.html?x", "#top", "a.md", "https://d.org", "../../e.md"])
    ('docs/b c.md', 'index.html')
    """
    folder, names = posixpath.dirname(name), dict[str, None]()
    for target in map(str.strip, targets):
        path = unquote(re.split("[?#]", target, maxsplit=1)[0])
        if path and not _EXTERNAL.match(target):
            linked = clean(posixpath.normpath(posixpath.join(folder, path)))
            if linked not in (name, ".", "..") and not linked.startswith("../"):
                names[linked] = None
    return tuple(names)
