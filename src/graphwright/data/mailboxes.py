"""A mailbox as a source: the messages of a Maildir with its folders, or of an mbox file, each by its Message-ID.

So a message keeps its document when others before it are deleted, when it is marked as read, and when it is moved to
another folder of the Maildir. Messages quote one another, so all are read again when one has changed.
"""

from __future__ import annotations

import mailbox
import os
import re
import weakref
from collections.abc import Iterator
from email.parser import BytesHeaderParser
from hashlib import blake2b
from pathlib import Path
from typing import Any

from graphwright.data.connectors import Fetched, SourceFile, scheme_of
from graphwright.data.formats.format import NO_MAILS, File
from graphwright.data.formats.mail import MAILDIR, known_mails
from graphwright.errors import DataError

_ID = re.compile(rb"<([^<>\s]+)>")
_ESCAPED = re.compile(rb"^>(?=>*From )", re.MULTILINE)  # in an mbox file


class MessageSource:
    """The messages of `maildir:FOLDER` or `mbox:FILE`, each once. Raises DataError for anything else."""

    def __init__(self, address: str) -> None:
        self._path = Path(address.partition(":")[2]).resolve()
        self._is_folder = scheme_of(address) == "maildir"
        self.address = f"{scheme_of(address)}:{self._path}"
        if self._is_folder and not all((self._path / name).is_dir() for name in MAILDIR):
            raise DataError(f"{self._path} is no Maildir; that is a folder with the folders cur and new.")
        if not (self._is_folder or self._path.is_file()):
            raise DataError(f"{self._path} is no mbox file. Check the path.")
        self._messages = dict[str, tuple[mailbox.Mailbox[Any], Any]]()
        self._mails = NO_MAILS

    def list(self) -> list[SourceFile]:
        """Return the messages. Raises DataError if one cannot be read, or an mbox file changes meanwhile."""
        self._messages, self._mails = {}, NO_MAILS
        state = blake2b(digest_size=16)
        try:
            before = self._stamp()
            for box in self._boxes():
                for key in sorted(box.keys()):
                    content = box.get_bytes(key)
                    state.update(blake2b(content).digest())
                    self._messages.setdefault(self._name(content), (box, key))
            if self._stamp() != before:
                raise mailbox.Error("another program is writing it")
        except (OSError, mailbox.Error) as error:
            raise DataError(
                f"{self._path} cannot be read ({error}); nothing was changed. Repair it, or try again."
            ) from error
        return [SourceFile(name, state.hexdigest()) for name in self._messages]

    def fetch(self, name: str, tag: str) -> Fetched:
        """Return a message."""
        if self._mails is NO_MAILS:
            self._mails = known_mails(map(self._file, self._messages))
        file = self._file(name)
        return Fetched(File(file.name, content=file.content, mails=self._mails))

    def _stamp(self) -> tuple[int, ...]:
        """Return what differs after a change of an mbox file, in which messages may be missing for a moment."""
        if self._is_folder:
            return ()
        with self._path.open("rb") as file:
            if file.read(5) not in (b"", b"From "):
                raise mailbox.FormatError("it does not begin with a line From, as an mbox file does")
            status = os.fstat(file.fileno())
            return status.st_ino, status.st_size, status.st_mtime_ns

    def _boxes(self) -> Iterator[mailbox.Mailbox[Any]]:
        if self._is_folder:
            root = mailbox.Maildir(self._path, create=False)
            yield from (root, *map(root.get_folder, sorted(root.list_folders())))
        else:
            box = mailbox.mbox(self._path, create=False)
            weakref.finalize(self, box.close)  # it holds its file open
            yield box

    def _name(self, content: bytes) -> str:
        """Return the id of a message: the name of the mailbox, and its Message-ID, or without one a digest."""
        header = BytesHeaderParser().parsebytes(content).get("Message-ID", "")
        match = _ID.search(str(header).encode("utf-8", "replace"))
        id = match[1].decode("utf-8", "replace") if match else blake2b(content, digest_size=8).hexdigest()
        return f"{self._path.name}/{re.sub('[/#]', '_', id)}"

    def _file(self, name: str) -> File:
        box, key = self._messages[name]
        content = box.get_bytes(key)
        if self._name(content) != name:  # of an mbox file, in which it has moved
            raise DataError(f"{self._path} was changed while it was read; try again.")
        return File(f"{name}.eml", content=content if self._is_folder else _ESCAPED.sub(b"", content))
