"""Links between documents: pairs of ids in a file, and hyperlinks between files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

from graphwright.data.decoding import lines
from graphwright.data.document import Skipped
from graphwright.text.characters import clean, file_name

CORPUS = ("corpus.jsonl", "corpus.jsonl.gz")  # names of the file of documents in our own format and in BEIR's
LINKS = ("links.tsv", "links.tsv.gz")  # names of the file of links beside it
_EXTERNAL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/\\]")  # an address with a scheme, or relative to the root of a site

_SITE = re.compile(r"https?://[^/]+/")


def links_file(corpus: Path) -> Path | None:
    """Return the `links.tsv` (or `.gz`) beside a `corpus.jsonl`; None for another file, or if there is none."""
    candidates = map(corpus.with_name, LINKS if corpus.name in CORPUS else ())
    return next((path for path in candidates if path.is_file()), None)


def read_links(path: Path) -> tuple[dict[str, list[str]], list[Skipped]]:
    """Return the link targets of each document in a `links.tsv`, and the lines that are not a pair of ids.

    A line holds the id of a document, a tab, and the id of a document that it links to; further columns are
    ignored, as are empty lines and lines that begin with `#`. A file without any pair gives one `Skipped`.
    """
    targets: dict[str, list[str]] = {}
    broken: list[Skipped] = []
    for number, line in enumerate(lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        source, target = (clean(cell).strip().lstrip("\ufeff") for cell in f"{line}\t".split("\t")[:2])
        if source and target:
            targets.setdefault(source, []).append(target)
        else:
            broken.append(Skipped(f"{path}:{number}", f"not two document ids separated by a tab: {line[:40]!r}"))
    if broken and not targets:
        broken = [Skipped(str(path), f"no links: {broken[0].reason}")]
    return targets, broken


def resolved(name: str, targets: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the files that the hyperlinks of a file lead to, each once.

    `name` is the path of the file itself in the folder that is read, or its address. Links to other sites, within the
    same file and out of the folder are left out.

    >>> resolved("https://d.org/a/b", ["c?x=1#top", "/", "https://d.org/a/d", "https://e.org/"])
    ('https://d.org/a/c?x=1', 'https://d.org/', 'https://d.org/a/d')
    >>> resolved("docs/a.md", ["b%20c.md#top", "../index.html?x", "#top", "a.md", "https://d.org", "../../e.md"])
    ('docs/b c.md', 'index.html')
    """
    if site := _SITE.match(name):
        addresses = dict[str, None]()
        for target in targets:
            with suppress(ValueError):  # no address
                addresses[urldefrag(urljoin(name, target.strip())).url] = None
        return tuple(address for address in addresses if address != name and address.startswith(site[0]))
    folder, names = posixpath.dirname(name), dict[str, None]()
    for target in map(str.strip, targets):
        path = unquote(re.split("[?#]", target, maxsplit=1)[0])
        if path and not _EXTERNAL.match(target):
            linked = file_name(posixpath.normpath(posixpath.join(folder, path)))
            if linked not in (name, ".", "..") and not linked.startswith("../"):
                names[linked] = None
    return tuple(names)
