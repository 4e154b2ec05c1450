"""Texts of files by other programs: pdftotext, LibreOffice, and the standard library for notebooks and mail."""

from __future__ import annotations

import email
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from email import policy
from pathlib import Path
from tempfile import TemporaryDirectory

_TEXT = "txt:Text (encoded):UTF8"
_TARGETS = {  # what LibreOffice converts a format to: a workbook to a table for each sheet
    "docx": _TEXT,
    "odt": _TEXT,
    "html": _TEXT,
    "xlsx": "csv:Text - txt - csv (StarCalc):32,34,76,1,,0,false,true,false,false,false,-1",
    "pptx": "pdf",
}
_BATCH = 20  # files that one process of LibreOffice converts, as its start takes most of the time
_MAX_SECONDS = 1800.0  # of a process, on a machine that does other work too


def form_of(path: Path) -> str:
    """Return the format of a file, by its suffix."""
    return Path(path.name.removesuffix(".gz")).suffix[1:].lower()


def references(paths: Sequence[Path], work: Path) -> dict[Path, str]:
    """Return the text of each file by another program, where there is one; texts are stored below `work`."""
    stored = {path: work / "references" / f"{path.relative_to(work / 'corpus')}.txt" for path in paths}
    missing: set[str] = set()
    for form in sorted({form_of(path) for path in paths}):
        todo = [path for path in paths if form_of(path) == form and not stored[path].exists()]
        try:
            for path, text in _texts(form, todo):
                stored[path].parent.mkdir(parents=True, exist_ok=True)
                stored[path].write_text(text, encoding="utf-8")
        except FileNotFoundError as error:  # no such program here
            missing.add(str(error.filename))
    if missing:
        print(f"not compared for want of {', '.join(sorted(missing))}", file=sys.stderr)
    texts = ((path, file.read_text(encoding="utf-8")) for path, file in stored.items() if file.exists())
    return {path: text for path, text in texts if text}


def _texts(form: str, paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield each file of one format with its text by another program, "" where it cannot be read."""
    if form not in _TARGETS:
        for path in paths:
            yield path, "\n".join(_parts(form, path))
        return
    for first in range(0, len(paths), _BATCH):
        batch = paths[first : first + _BATCH]
        texts = _converted(form, batch)
        for path, text in zip(batch, texts, strict=True):  # a file may stop the program for those after it
            yield path, text or (_converted(form, [path])[0] if len(batch) > 1 else "")


def _parts(form: str, path: Path) -> Iterator[str]:
    """Yield the texts that another program finds in a file."""
    if form == "pdf":
        with TemporaryDirectory() as folder:
            plain = Path(folder) / "file.pdf"
            plain.write_bytes(subprocess.run(["gzip", "-cdf", path], capture_output=True, check=True).stdout)
            yield _pdftotext(plain)
    elif form == "ipynb":
        cells = json.loads(path.read_text(encoding="utf-8")).get("cells", [])
        yield from ("".join(cell.get("source", ())) for cell in cells)
    elif form == "eml":
        message = email.message_from_bytes(path.read_bytes(), policy=policy.default)
        for part in message.walk():
            if part.get_content_type() == "text/plain":
                content = part.get_payload(decode=True)
                assert isinstance(content, bytes)
                yield content.decode(part.get_content_charset("utf-8"), "replace")


def _pdftotext(path: Path) -> str:
    return subprocess.run(["pdftotext", "-q", path, "-"], capture_output=True).stdout.decode("utf-8", "replace")


def _converted(form: str, paths: Sequence[Path]) -> list[str]:
    """Return the text of each file by one process of LibreOffice; "" for those that it cannot read."""
    with TemporaryDirectory() as folder:
        scratch = Path(folder)
        copies = [scratch / f"{number}.{form}" for number in range(len(paths))]
        for path, copy in zip(paths, copies, strict=True):
            shutil.copyfile(path, copy)
        command = ["soffice", "--headless", f"-env:UserInstallation=file://{scratch}/profile"]
        command += ["--convert-to", _TARGETS[form], "--outdir", f"{scratch}/made", *map(str, copies)]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, capture_output=True, timeout=_MAX_SECONDS)
        return ["\n".join(map(_read, sorted(scratch.glob(f"made/{copy.stem}[.-]*")))) for copy in copies]


def _read(made: Path) -> str:
    return _pdftotext(made) if made.suffix == ".pdf" else made.read_text("utf-8-sig", "replace")
