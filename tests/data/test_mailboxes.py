"""Mailboxes as sources: messages keep their documents by their Message-ID, and do not repeat what they quote."""

from __future__ import annotations

import mailbox
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

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
    ("address", "message"), [("maildir:.", "is no Maildir"), ("mbox:none", "is no mbox file"), ("mbox:a", "nothing to")]
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
