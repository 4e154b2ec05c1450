"""Mailboxes as sources: messages keep their documents by their Message-ID, and do not repeat what they quote."""

from __future__ import annotations

import mailbox
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from graphwright import Index
from graphwright.data.mailboxes import MessageSource
from graphwright.errors import DataError
from graphwright.models.fake import HashEncoder


def message(number: int, text: str, answers: int = 0) -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"] = "Ann <a@example.org>", "Bob <b@example.org>"
    mail["Subject"], mail["Date"] = f"{'Re: ' * bool(answers)}Dinner", f"Mon, {number:02} Jan 2024 10:00:00 +0000"
    mail["Message-ID"] = f"<{number}@example.org>"
    if answers:
        mail["In-Reply-To"] = f"<{answers}@example.org>"
    mail.set_content(text)
    return mail


FIRST = "Dinner in Graz is on Friday evening at seven."
MESSAGES = [
    message(1, FIRST),
    message(2, f"Fine, I bring wine from Gamlitz.\nFrom my own cellar.\n\n> {FIRST}", 1),
    message(3, "The plumber comes on Monday."),
]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "ix", encoder=HashEncoder()) as index:
        yield index


def texts(index: Index) -> dict[str, str]:
    return {item.id.partition("/")[2]: index.text(item.id) for item in index.list_documents()}


@pytest.mark.parametrize("scheme", ["maildir", "mbox"])
def test_sync_mailbox_follows_its_messages(scheme: str, index: Index, tmp_path: Path) -> None:
    path = tmp_path / "mails"
    box: mailbox.Mailbox = (mailbox.Maildir if scheme == "maildir" else mailbox.mbox)(path)
    keys = [box.add(mail) for mail in MESSAGES]
    box.flush()
    assert len(index.sync(f"{scheme}:{path}").added) == 3
    read = texts(index)
    assert set(read) == {f"{number}@example.org" for number in (1, 2, 3)}
    assert "\nFrom my own cellar." in read["2@example.org"] and FIRST not in read["2@example.org"]
    assert len(index.sync(f"{scheme}:{path}").unchanged) == 3
    box.remove(keys[0])
    box.add(message(4, "Bring a coat."))
    box.flush()
    changes = index.sync(f"{scheme}:{path}")
    assert changes.added == ["mails/4@example.org"] and changes.removed == ["mails/1@example.org"]
    assert changes.replaced == ["mails/2@example.org"]  # the only place now of what it quotes
    assert FIRST in texts(index)["2@example.org"]
    box.close()


def test_sync_maildir_ignores_flags_and_moves(index: Index, tmp_path: Path) -> None:
    box = mailbox.Maildir(tmp_path / "mails")
    sent = box.add_folder("Sent")
    key = box.add(MESSAGES[0])
    sent.add(MESSAGES[1])
    assert len(index.sync(f"maildir:{tmp_path}/mails").added) == 2
    read = box[key]
    read.set_subdir("cur")
    read.add_flag("S")
    box[key] = read
    assert len(index.sync(f"maildir:{tmp_path}/mails").unchanged) == 2
    sent.add(read)
    box.remove(key)
    changes = index.sync(f"maildir:{tmp_path}/mails")
    assert len(changes.unchanged) == 2 and not changes.removed


@pytest.mark.parametrize(
    ("address", "message"),
    [("maildir:.", "is no Maildir"), ("mbox:none", "is no mbox file"), ("mbox:a", "does not begin with a line From")],
)
def test_wrong_mailbox_raises(
    address: str, message: str, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("no mail", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        index.sync(address)


def test_forbidden_message_changes_nothing(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box = mailbox.Maildir(tmp_path / "mails")
    box.add(MESSAGES[0])

    def fail(*_: object) -> bytes:
        raise PermissionError("not for you")

    source = MessageSource(f"maildir:{tmp_path}/mails")
    index.sync(source)
    monkeypatch.setattr(mailbox.Maildir, "get_bytes", fail)
    with pytest.raises(DataError, match="not for you"):
        index.sync(source)
    assert index.documents == 1


def mbox_of(path: Path, *messages: EmailMessage) -> bytes:
    box = mailbox.mbox(path)
    for mail in messages:
        box.add(mail)
    box.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: b"", "it has no files"),
        (lambda content: content[100:], "does not begin with a line From"),
        (lambda content: bytes(len(content)), "does not begin with a line From"),
    ],
)
def test_damaged_mbox_changes_nothing(
    damage: Callable[[bytes], bytes], message: str, index: Index, tmp_path: Path
) -> None:
    content = mbox_of(tmp_path / "mails", *MESSAGES)
    index.sync(f"mbox:{tmp_path}/mails")
    (tmp_path / "mails").write_bytes(damage(content))
    with pytest.raises(DataError, match=message):
        index.sync(f"mbox:{tmp_path}/mails")
    assert index.documents == 3


def test_mbox_that_is_written_meanwhile_changes_nothing(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = tmp_path / "mails", mailbox.mbox.get_bytes
    content = mbox_of(path, message(4, "A long one. " * 5_000), *MESSAGES[1:])  # longer than a buffer
    source = MessageSource(f"mbox:{path}")
    index.sync(source)
    path.write_bytes(content[: len(content) // 2])  # as of a copy that is not complete

    def grow(self: mailbox.mbox, *given: Any) -> bytes:
        path.write_bytes(content)
        return read(self, *given)

    with monkeypatch.context() as patch, pytest.raises(DataError, match="another program is writing it"):
        patch.setattr(mailbox.mbox, "get_bytes", grow)
        index.sync(source)
    assert index.documents == 3
    listed = source.list()
    path.write_bytes(mbox_of(tmp_path / "shorter", *MESSAGES[1:]))
    with pytest.raises(DataError, match="was changed while it was read"):
        source.fetch(listed[-1].name, "")


def test_maildir_that_breaks_changes_nothing(index: Index, tmp_path: Path) -> None:
    box = mailbox.Maildir(tmp_path / "mails")
    sent = box.add_folder("Sent")
    box.add(MESSAGES[0])
    sent.add(MESSAGES[1])
    source = MessageSource(f"maildir:{tmp_path}/mails")
    index.sync(source)
    (tmp_path / "mails" / ".Sent" / "new").rename(tmp_path / "away")
    with pytest.raises(DataError, match="cannot be read"):
        index.sync(source)
    (tmp_path / "away").rename(tmp_path / "mails" / ".Sent" / "new")
    (tmp_path / "mails" / "cur").rmdir()  # as of a disk that is not mounted
    with pytest.raises(DataError, match=r"cannot be read|is no Maildir"):
        index.sync(source)
    assert index.documents == 2
