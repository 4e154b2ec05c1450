"""E-mail: headers, bodies, attachments and mailboxes."""

from __future__ import annotations

from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.formats.format import Extracted, File, UnreadableError
from graphwright.data.formats.mail import read, read_mailbox


def message(subject: str = "The Mur in März", text: str = "It is high.\n") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Anna Öller <anna@example.org>", "bert@example.org", subject
    mail["Date"] = "Fri, 01 Mar 2024 10:00:00 +0100"
    mail.set_content(text)
    return mail


def test_mail_message_has_headers_and_attachments() -> None:
    mail = message()
    mail.add_alternative("<p>It is <b>high</b>. As HTML</p>", subtype="html")
    mail.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="Pegel März/2.pdf")
    mail.add_attachment("a,b\n", subtype="csv", filename="levels.csv")
    text, first, second = read(File("a.eml", content=mail.as_bytes()))
    assert isinstance(text, Extracted) and isinstance(first, File) and isinstance(second, File)
    assert text.text == (
        "From: Anna Öller <anna@example.org>\nTo: bert@example.org\nDate: Fri, 01 Mar 2024 10:00:00 +0100\n"
        "Subject: The Mur in März\n\nIt is high."
    )
    assert (text.title, text.metadata["to"], text.name) == ("The Mur in März", "bert@example.org", "")
    assert [(part.name, part.content) for part in (first, second)] == [
        ("/Pegel März_2.pdf", b"%PDF"),
        ("/levels.csv", b"a,b\n"),
    ]


def test_mail_html_alone_is_read() -> None:
    mail = message()
    mail.set_content('<p>It is <a href="x.html">high</a>.</p>', subtype="html")
    (text,) = read(File("a.eml", content=mail.as_bytes()))
    assert isinstance(text, Extracted) and text.text.endswith("\n\nIt is high.") and text.links == ["x.html"]


def test_mail_multipart_without_boundary_is_read() -> None:
    head = b"From: anna@example.org\nSubject: Returned\nContent-Type: multipart/report; report-type=delivery-status\n"
    (text,) = read(File("a.eml", content=head + b"\nThe message was returned.\n"))
    assert isinstance(text, Extracted) and text.text.endswith("\n\nThe message was returned.")


def test_mail_from_line_of_mailbox_is_left_out() -> None:
    mail = b"From anna@example.org Fri Mar  1 10:00:00 2024\n" + message().as_bytes()
    (text,) = read(File("a.eml", content=mail))
    assert isinstance(text, Extracted) and text.text.startswith("From: Anna Öller <anna@example.org>\nTo: bert")


def test_mailbox_messages_become_documents() -> None:
    mails = [message(f"Day {day}", f"From here on.\n\nFrom Graz: {day}.\n") for day in range(3)]
    sources = (mail.as_bytes().replace(b"\nFrom G", b"\n>From G") for mail in mails)
    box = b"".join(b"From anna Fri Mar  1 10:00:00 2024\n" + source + b"\n" for source in sources)
    parts = list(read_mailbox(File("a.mbox", content=box)))
    assert [(part.name, part.title) for part in parts if isinstance(part, Extracted)] == [
        ("#1", "Day 0"), ("#2", "Day 1"), ("#3", "Day 2"),
    ]  # fmt: skip
    assert isinstance(parts[1], Extracted) and parts[1].text.endswith("From here on.\n\nFrom Graz: 1.")


def test_mail_other_file_raises() -> None:
    with pytest.raises(UnreadableError, match="does not begin with a header"):
        list(read(File("a.eml", content=b"\x00\x01")))
    with pytest.raises(UnreadableError, match="does not begin with a line 'From '"):
        list(read_mailbox(File("a.mbox", content=b"Hello\n")))


HEADERS = [b"From: =?utf-8?B?", b"Subject: ", b"Content-Type: multipart/mixed; boundary=x", b"\n--x\n", b"\xff"]
HEADERS += [b"Content-Type: text/html; charset=nothing"]


@given(st.lists(st.sampled_from(HEADERS) | st.binary(max_size=9), max_size=12))
def test_mail_any_bytes_are_read_or_named(lines: list[bytes]) -> None:
    data = b"From: a\n" + b"\n".join(lines)
    try:
        parts = list(read(File("a.eml", content=data)))
    except (UnreadableError, ValueError, LookupError, TypeError, AttributeError):
        return  # read_documents names the file with the reason
    assert isinstance(parts[0], Extracted)
