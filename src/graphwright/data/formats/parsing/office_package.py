"""Opening of Office packages: Word, Excel and PowerPoint files of the transitional and the strict form of ISO 29500."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from graphwright.data.formats.archives import checked_zip
from graphwright.data.formats.format import File
from graphwright.data.formats.parsing.xml import refuse_entities_in

_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_TRANSITIONAL = rb"http://schemas.openxmlformats.org/\1/2006/"


@contextmanager
def office_package(file: File) -> Iterator[BinaryIO]:
    """Open a package for a library that reads only the transitional form.

    Of a package in the strict form, a copy in memory gets the namespaces of the transitional form. Raises
    UnreadableError if the archive is damaged, encrypted or too large, or if its XML declares entities.
    """
    with checked_zip(file) as archive:
        refuse_entities_in(archive)
        if "_rels/.rels" in archive.namelist() and _STRICT.search(archive.read("_rels/.rels")):
            yield _transitional(archive)
            return
    with file.open() as source:
        yield source


def _transitional(archive: zipfile.ZipFile) -> BinaryIO:
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w") as target:
        for member in archive.infolist():
            content = archive.read(member)
            if member.filename.endswith((".xml", ".rels")):
                content = _STRICT.sub(_TRANSITIONAL, content)
            target.writestr(member.filename, content)
    copy.seek(0)
    return copy


def has_folder(name: str) -> Callable[[zipfile.ZipFile], bool]:
    """Return a function that checks whether an archive is a package with a folder, such as `word/`."""
    return lambda archive: (
        "[Content_Types].xml" in (names := archive.namelist()) and any(member.startswith(name) for member in names)
    )
