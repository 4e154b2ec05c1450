"""Rankings as TREC runs: one file for each method, to be judged by the tools of others."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from graphwright.files import whole

__all__ = ["Runs", "file_name", "lines"]

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d")  # no file may be called so on some systems


def file_name(method: str) -> str:
    """Return the name of a method's run: safe on every system, and another one for every method.

    >>> file_name("ppr"), file_name("ppr(restart=0.5)"), file_name("../a")
    ('ppr.trec', 'ppr-restart-0-5-e60ce1f8.trec', 'a-33a80bec.trec')
    """
    if _PLAIN.fullmatch(method) and not _RESERVED.fullmatch(method):
        return f"{method}.trec"
    words = "-".join(re.findall(r"[a-z0-9]+", method.lower()))[:60].rstrip("-") or "method"
    digest = hashlib.blake2b(method.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{words}-{digest}.trec"


def lines(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a result: question, Q0, document, rank, score, method.

    White space parts the fields, so within one it is written as in addresses, %20 for a blank, and % as %25.

    >>> row = {"method": "my ppr", "question": "q1", "documents": [["a b", 0.5], ["c", 0.25]]}
    >>> list(lines(row))
    ['q1 Q0 a%20b 1 0.5 my%20ppr', 'q1 Q0 c 2 0.25 my%20ppr']
    """
    question, method = _field(row["question"]), _field(row["method"])
    for rank, (document, score) in enumerate(row.get("documents") or (), 1):
        yield f"{question} Q0 {_field(document)} {rank} {score!r} {method}"


@lru_cache(maxsize=1 << 16)
def _field(text: str) -> str:
    return re.sub(r"[\s%\x00-\x1f\x7f-\x9f\ud800-\udfff]", lambda found: _quoted(found[0]), text) or "%00"


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


class Runs:
    """The files of a folder that grow by results, whichever order they come in; they are there when all have come."""

    def __init__(self, folder: Path) -> None:
        self.files: dict[str, str] = {}
        self._folder, self._drafts, self._stack = folder, dict[str, Path](), ExitStack()

    @classmethod
    @contextmanager
    def writing(cls, folder: Path) -> Iterator[Runs]:
        """Open the files, and put them in their places at the end, none where it fails."""
        runs = cls(folder)
        with runs._stack:
            yield runs

    def add(self, row: Mapping[str, Any]) -> None:
        """Write a result; a method has a file from its first ranked document on."""
        text = "".join(f"{line}\n" for line in lines(row))
        if not text:
            return
        method = row["method"]
        new = method not in self._drafts
        if new:
            self._folder.mkdir(exist_ok=True)
            self.files[method] = file_name(method)
            self._drafts[method] = self._stack.enter_context(whole(self._folder / self.files[method]))
        # Opened for each, as there may be more methods than files that a process may hold open.
        with self._drafts[method].open("w" if new else "a", encoding="utf-8", newline="\n") as file:
            file.write(text)
