"""E-mail: headers, bodies, attachments and mailboxes."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data.document import Document
from graphwright.data.documents import read_documents
from graphwright.data.formats.format import Extracted, File, UnreadableError
from graphwright.data.formats.mail import read, read_mailbox
from graphwright.data.formats.parsing.mail_text import Source, source_of


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


def mail(author: str, number: int, text: str, *answered: int) -> str:
    ids = [f"<m{other}@example.org>" for other in answered]
    headers = [
        f"From: {author} <{author.split()[0].lower()}@example.org>",
        "To: Dora Neu <dora@example.org>",
        f"Date: Mon, {number:02} Mar 2026 09:10:00 +0100",
        "Subject: Pump",
        f"Message-ID: <m{number}@example.org>",
        *([f"In-Reply-To: {ids[-1]}", f"References: {' '.join(ids)}"] if ids else []),
        "Content-Type: text/html; charset=utf-8" if text.startswith("<") else "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: 8bit",
    ]
    return "\n".join((*headers, "", text, ""))


def mails_of(document: Document) -> list[tuple[str, str, str, bool]]:
    fields = [({f.name: f.text for f in record.fields}, record.is_copy) for record in document.records]
    return [(f.get("from", ""), f.get("date", ""), f.get("text", ""), copy) for f, copy in fields]


FIRST = "Hello Dora,\nthe pump lifts 40 litres a minute.\nAnna"
FORMS = {
    "gmail": "Thanks.\n\nAm So., 1. März 2026 um 09:10 Uhr schrieb Anna Öller <anna@example.org>:\n> {}",
    "french": "Thanks.\n\nLe dim. 1 mars 2026 à 09:10, Anna Öller <anna@example.org> a\nécrit :\n\n> {}",
    "gmail_wrapped": "Thanks.\n\nOn Sun, Mar 1, 2026 at 9:10 AM Anna Öller\n<anna@example.org> wrote:\n\n> {}",
    "japanese": "Thanks.\n\n2026年3月1日(日) 9:10 Anna Öller <anna@example.org>:\n\n> {}",
    "apple": "Thanks.\n\n> On 1 Mar 2026, at 09:10, Anna Öller <anna@example.org> wrote:\n> \n> {}",
    "thunderbird": "Thanks.\n\nAm 01.03.26 um 09:10 schrieb Anna Öller:\n> {}",
    "proton": (
        "Thanks.\n\n------- Original Message -------\nOn Sunday, March 1st, 2026 at 9:10 AM, Anna Öller "
        "<anna@example.org> wrote:\n\n\n> {}"
    ),
    "yahoo": (
        "Thanks.\n\n    Em domingo, 1 de março de 2026 09:10:00 BRT, Anna Öller <anna@example.org> escreveu:\n\n{}"
    ),
    "forwarded": (
        "Thanks.\n\n---------- Forwarded message ---------\nFrom: Anna Öller <anna@example.org>\n"
        "Date: Sun, Mar 1, 2026 at 9:10 AM\nSubject: Pump\nTo: Dora Neu <dora@example.org>\n\n{0}"
    ),
    "outlook": (
        "Thanks.\n\nVon: Anna Öller\nGesendet: Sonntag, 1. März 2026 09:10\nAn: Dora Neu\nBetreff: Pump\n\n{0}"
    ),
    "outlook_old": (
        "Thanks.\n\n-----Mensaje original-----\nDe: Anna Öller\nEnviado el: domingo, 1 de marzo de 2026 9:10\n"
        "Para: Dora Neu\nAsunto: Pump\n\n{0}"
    ),
    "marked_headers": (
        "Thanks.\n\n> -----Original Message-----\n> From: Anna Öller\n> Sent: Sunday, March 1, 2026 9:10 AM\n"
        "> To: Dora Neu\n> Subject: Pump\n> \n> {}"
    ),
    "chinese": (
        "Thanks.\n\n发件人：Anna Öller <anna@example.org>\n发送时间：2026年3月1日 9:10\n"
        "收件人：Dora Neu <dora@example.org>\n主题：Pump\n\n{0}"
    ),
    "subject_first": (
        "Thanks.\n\n-------- Weitergeleitete Nachricht --------\nBetreff: \tPump\n"
        "Datum: \tSun, 1 Mar 2026 09:10:00 +0100\n"
        "Von: \tAnna Öller <anna@example.org>\nAn: \tDora Neu <dora@example.org>\n\n\n{0}"
    ),
    "html": (
        "<div>Thanks.</div><div class=gmail_quote><div>On Sun, Mar 1, 2026 at 9:10 AM Anna Öller "
        "&lt;anna@example.org&gt; wrote:<br></div><blockquote class=gmail_quote><div>{1}</div></blockquote></div>"
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("answered", "end"), [((1,), "\n"), ((), "\r\n")])
def test_read_documents_quotation_of_mail_beside_is_left_out(
    tmp_path: Path, form: str, answered: tuple[int, ...], end: str
) -> None:
    quoted = FIRST.replace("\n", "\n> ") if "> {}" in FORMS[form] else FIRST
    reply = mail("Bert Ro", 2, FORMS[form].format(quoted, FIRST.replace("\n", "<br>")), *answered)
    (tmp_path / "1.eml").write_text(mail("Anna Öller", 1, FIRST), encoding="utf-8")
    (tmp_path / "2.eml").write_text(reply, encoding="utf-8", newline=end)
    _, second = read_documents([tmp_path], print)
    assert second.text.endswith("\n\nThanks.")
    assert mails_of(second) == [("Bert Ro", "2026-03-02 09:10", "Thanks.", False)]


@pytest.mark.parametrize("form", FORMS)
def test_read_documents_quotation_of_missing_mail_is_record_of_its_author(tmp_path: Path, form: str) -> None:
    quoted = FIRST.replace("\n", "\n> ") if "> {}" in FORMS[form] else FIRST
    reply = mail("Bert Ro", 2, FORMS[form].format(quoted, FIRST.replace("\n", "<br>")), 1)
    (tmp_path / "2.eml").write_text(reply, encoding="utf-8", newline="\r\n")
    [document] = read_documents([tmp_path], print)
    assert mails_of(document) == [
        ("Bert Ro", "2026-03-02 09:10", "Thanks.", False),
        ("Anna Öller", "2026-03-01 09:10", " ".join(FIRST.split()), False),
    ]
    start, end = document.records[1].fields[-1][2:]
    assert document.text[start:end].split() == FIRST.split()


def test_read_documents_lines_with_initials_are_a_quotation(tmp_path: Path) -> None:
    (tmp_path / "1.eml").write_text(mail("Anna Öller", 1, FIRST), encoding="utf-8")
    answer = "AO> the pump lifts 40 litres\nAO> a minute.\n\nThanks."
    (tmp_path / "2.eml").write_text(mail("Bert Ro", 2, answer, 1), encoding="utf-8")
    _, second = read_documents([tmp_path], print)
    assert mails_of(second) == [("Bert Ro", "2026-03-02 09:10", "Thanks.", False)]


def test_read_documents_own_line_above_a_name_is_no_quotation(tmp_path: Path) -> None:
    text = "It lifts more since 3 March 2026.\nAnna Öller <anna@example.org> wrote:\n> The pump lifts."
    (tmp_path / "2.eml").write_text(mail("Bert Ro", 2, text), encoding="utf-8")
    [document] = read_documents([tmp_path], print)
    assert [fields[2] for fields in mails_of(document)] == ["It lifts more since 3 March 2026.", "The pump lifts."]


def test_read_documents_mail_quoted_twice_is_kept_once(tmp_path: Path) -> None:
    quoted = "\n\nOn 1 Mar 2026 09:10, Anna Öller wrote:\n> " + FIRST.replace("\n", "\n> ")
    (tmp_path / "2.eml").write_text(mail("Bert Ro", 2, f"Thanks.{quoted}", 1), encoding="utf-8")
    (tmp_path / "3.eml").write_text(mail("Carl Moe", 3, f"I agree.{quoted}", 1), encoding="utf-8")
    texts = [document.text for document in read_documents([tmp_path], print)]
    assert ["40 litres" in text for text in texts] == [True, False]


def test_read_documents_answers_between_quoted_lines_keep_them_as_copies(tmp_path: Path) -> None:
    answers = "On 1 Mar 2026 09:10, Anna Öller wrote:\n> Is it high?\n\nNo.\n\n> Is it old?\n\nYes.\n"
    (tmp_path / "1.eml").write_text(mail("Anna Öller", 1, "Is it high?\nIs it old?"), encoding="utf-8")
    (tmp_path / "2.eml").write_text(mail("Bert Ro", 2, answers, 1), encoding="utf-8")
    _, second = read_documents([tmp_path], print)
    assert second.text.endswith("Is it high?\n\nNo.\n\nIs it old?\n\nYes.")
    assert mails_of(second)[0] == ("Bert Ro", "2026-03-02 09:10", "No. Yes.", False)
    assert [(author, copy) for author, _, _, copy in mails_of(second)[1:]] == [("Anna Öller", True)] * 2


def test_read_mailbox_threads_are_joined_by_ids(tmp_path: Path) -> None:
    first, second = mail("Anna Öller", 1, FIRST), mail("Bert Ro", 2, "> " + FIRST.replace("\n", "\n> ") + "\n\nYes.", 1)
    box = "".join(f"From a@b Sun Mar  1 09:10:00 2026\n{source}\n" for source in (first, second))
    (tmp_path / "all.mbox").write_text(box, encoding="utf-8")
    _, reply = read_documents([tmp_path], print)
    assert reply.id == "all.mbox#2" and "litres" not in reply.text
    fields = {f.name: f.text for f in reply.records[0].fields}
    assert (fields["id"], fields["reply to"], fields["to"]) == ("m2@example.org", "m1@example.org", "Dora Neu")
    assert fields["from.address"] == "bert@example.org"


def test_mail_block_of_settings_is_no_quotation() -> None:
    text = "Please come.\n\nWhen: 2 March 2026 10:00\nWhere: Graz\nWho: anna@example.org\n\nBring food.\n"
    (part,) = read(File("a.eml", content=mail("Anna Öller", 1, text).encode()))
    assert isinstance(part, Extracted) and part.text.endswith(text.strip()) and len(part.records) == 1


def test_read_documents_files_of_maildir_and_apple_mail_are_mails(tmp_path: Path) -> None:
    first = mail("Anna Öller", 1, FIRST).encode()
    reply = mail("Bert Ro", 2, FORMS["outlook"].format("", FIRST), 1).encode()
    (tmp_path / "cur").mkdir()
    (tmp_path / "cur" / "1772438400.M1P1.host:2,S").write_bytes(first)
    (tmp_path / "2.emlx").write_bytes(b"%d\n%s<plist><dict/></plist>\n" % (len(reply), reply))
    second, one = read_documents([tmp_path], print)
    assert mails_of(one)[0][:2] == ("Anna Öller", "2026-03-01 09:10") and one.text.endswith("a minute.\nAnna")
    assert second.text.endswith("\n\nThanks.")


UNMARKED = {
    "notes": (
        "Thanks.\n\n\nVon:\tAnna Öller/Kestrel\nAn:\tDora Neu/Kestrel@K\nKopie:\t\nDatum:\t01.03.2026 09:10\n"
        "Betreff:\tPump\n\n\n{}"
    ),
    "line": "Thanks.\n\nAnna Öller schreef op 1 maart 2026 09:10:\n{}",
    "above": "Le 01/03/2026 09:10, Anna Öller a écrit :\n{}\n\nThanks.",
}


@pytest.mark.parametrize("form", UNMARKED)
@pytest.mark.parametrize("text", [FIRST, "Hello Dora,\nthe pump lifts 40 litres a minute. It stands in the hall."])
def test_read_documents_text_of_mail_beside_without_marks_is_left_out(tmp_path: Path, form: str, text: str) -> None:
    broken = text.replace("40 ", "40\n")
    (tmp_path / "1.eml").write_text(mail("Anna Öller", 1, text), encoding="utf-8")
    (tmp_path / "2.eml").write_text(mail("Bert Ro", 2, UNMARKED[form].format(broken)), encoding="utf-8")
    _, second = read_documents([tmp_path], print)
    assert mails_of(second) == [("Bert Ro", "2026-03-02 09:10", "Thanks.", False)]
    assert second.text.endswith("\n\nThanks.")


def test_read_documents_mails_have_the_thread_of_the_first(tmp_path: Path) -> None:
    subjects = {1: "Work: pump", 2: "Re: Work: pump", 3: "Antwort: Pipes", 4: "AW: Work: pump", 5: "Sale: tea"}
    answered = {2: (1,), 3: (1, 2), 6: (9,)}
    for number in range(1, 7):
        text = mail("Anna Öller", number, f"Text {number}.", *answered.get(number, ()))
        subject = subjects.get(number, "SV: Re: Gate")
        (tmp_path / f"{number}.eml").write_text(text.replace("Subject: Pump", f"Subject: {subject}"), encoding="utf-8")
    threads = [dict(f[:2] for f in d.records[0].fields)["thread"] for d in read_documents([tmp_path], print)]
    assert threads == ["Work: pump"] * 4 + ["Sale: tea", "Gate"]


@pytest.mark.parametrize(
    "intro",
    [
        ["From: Anna <anna@example.org>", "Date: 1 March 2026 at 09:10", "Subject: Pump", "To: Dora"],
        ["From: Anna", "Subject: Pump", "Date: 1 March 2026 at 09:10", "To: Dora <dora@example.org>"],
        ["Von: Anna", "Gesendet: 1. März 2026 09:10", "An: Dora", "Betreff: Pump"],
    ],
)
def test_source_of_subject_in_any_place_is_that_of_the_answer(intro: list[str]) -> None:
    assert source_of(intro, {}, "WG: Pump") == Source("Anna", "2026-03-01 09:10", "Pump")
