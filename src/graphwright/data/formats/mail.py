"""E-mail: messages with their headers, and their attachments; mailboxes of many messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from email.message import Message
from email.parser import BytesParser
from email.policy import EmailPolicy
from email.utils import parsedate_to_datetime
from itertools import islice
from pathlib import PurePath
from typing import Any

from graphwright.data.decoding import decode as decoded
from graphwright.data.document import Skipped
from graphwright.data.formats.format import MAX_BYTES, File, Format, KnownMails, Part, UnreadableError
from graphwright.data.formats.html import html_text
from graphwright.data.formats.parsing.mail_text import MailWriter, marked_quotations, opening
from graphwright.data.formats.parsing.mail_text import parts as quoted_parts
from graphwright.text.characters import clean, file_name

_FIELDS = ("from", "to", "cc", "date", "subject")
_HEADER = re.compile(rb"[!-9;-~]{1,70}:")
_SEPARATOR = re.compile(rb"From \S.{0,200}\d:\d\d")  # a sender and a date
_EMLX = re.compile(rb"(\d{1,12}) *\r?\n")  # the number of bytes of a message, in a line before it
_MAILBOX = re.compile(rb"From .*?\nFrom: ", re.DOTALL)
_MALFORMED = (UnreadableError, LookupError, ValueError, AttributeError, TypeError, RecursionError)
_MAILBOXES = (".mbox", ".mbx")
MAIL_SUFFIXES = (".eml", ".emlx", *_MAILBOXES)  # suffixes of files of mails
MAILDIR = ("cur", "new")  # folders of a Maildir, whose files are a message each
_MAX_PARTS = 1_000  # of a message
_MAX_HEADER = 1_000  # characters of a header that are parsed at a time


def read(file: File) -> Iterator[Part]:
    """Yield a message, without a mailbox's line `From ` and quotations of mails read with it, then its attachments."""
    data = _without_frame(file.data())
    if not _HEADER.match(data):
        raise UnreadableError("not an e-mail: it does not begin with a header")
    yield from _message(data, "", _place(file, ""), file.mails)


def _without_frame(data: bytes) -> bytes:
    """Return the bytes of a message without the line of a mailbox before it, or what Apple Mail writes around it."""
    data = data.lstrip(b"\r\n")
    if data.startswith(b"From "):
        return data.partition(b"\n")[2]
    return data[match.end() :][: int(match[1])] if (match := _EMLX.match(data)) else data


def is_mail(head: bytes, _suffix: str = "") -> bool:
    """Return whether the first bytes of a file are the headers of a message, as in a folder of Maildir."""
    names = {
        line.partition(b":")[0].lower()
        for line in head.replace(b"\r", b"").partition(b"\n\n")[0].split(b"\n")
        if _HEADER.match(line)
    }
    return bool(_HEADER.match(head)) and names >= {b"from", b"date"} and bool(names & {b"message-id", b"received"})


def read_mailbox(file: File) -> Iterator[Part]:
    """Yield the messages of a mailbox; each is a document `#n`, counted from 1, followed by its attachments."""
    known = file.mails if file.mails.ids or file.mails.openings else known_mails([file])
    for number, message in enumerate(_messages(file), start=1):
        if len(message) > MAX_BYTES:
            yield Skipped(f"#{number}", f"a message of more than {MAX_BYTES >> 20} MB")
            continue
        try:
            yield from _message(message, f"#{number}", _place(file, f"#{number}"), known)
        except _MALFORMED as error:
            yield Skipped(f"#{number}", f"a message that cannot be read: {error}")


def _messages(file: File) -> Iterator[bytes]:
    """Yield the bytes of each message. Raises UnreadableError for a file that is no mailbox."""
    message = bytearray()
    begun = blank = False
    with file.open() as source:
        for line in source:
            if (blank and _SEPARATOR.match(line)) or (not begun and line.startswith(b"From ")):
                if begun:
                    yield bytes(message)
                message.clear()
                begun = True
            elif not begun:
                if line.strip():
                    raise UnreadableError("not a mailbox: it does not begin with a line 'From '")
            elif len(message) <= MAX_BYTES:
                message += line[1:] if re.match(rb">+From ", line) else line
            blank = not line.strip()
    if begun:
        yield bytes(message)


class _Policy(EmailPolicy):
    """The policy of the standard library with a limit on the length of headers, as its parser takes quadratic time."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        """Return a parsed header; a long text is parsed in parts, and a long content type is cut."""
        if len(value) <= _MAX_HEADER:
            return super().header_fetch_parse(name, value)
        if name.lower().startswith("content-"):
            return super().header_fetch_parse(name, value[:_MAX_HEADER])
        parts, size = [list[str]()], 0
        for word in re.findall(rf"\S{{1,{_MAX_HEADER}}}", value):
            if size + len(word) > _MAX_HEADER:
                parts.append([])
                size = 0
            parts[-1].append(word)
            size += len(word) + 1
        return " ".join(str(super(_Policy, self).header_fetch_parse("subject", " ".join(part))) for part in parts)


def _parsed(data: bytes) -> Message:
    return BytesParser(policy=_Policy()).parsebytes(data)


def known_mails(files: Iterable[File]) -> KnownMails:
    """Return what is needed to recognise copies of the mails of these files; unreadable ones are left out."""
    ids, subjects, openings, quoted = dict[str, str](), set[str](), dict[str, int](), dict[str, str]()
    for file in files:
        try:
            is_box = PurePath(file.name).suffix.lower() in _MAILBOXES
            for number, data in enumerate(_messages(file) if is_box else (_without_frame(file.data()),), start=1):
                message = _parsed(data)
                subject, answered = _header(message, "subject"), _ids(message, "references", "in-reply-to")
                ids.update(dict.fromkeys(_ids(message, "message-id"), subject))
                subjects.update(() if answered else {subject})
                found = quoted_parts(_texts(message)[0])
                own = next((part.text for part in found if not part.depth), "")
                openings[opening(own)] = len("".join(own.split()))
                for part in found:
                    if part.depth:
                        quoted.setdefault(opening(part.text), _place(file, f"#{number}" if is_box else ""))
        except (OSError, *_MALFORMED):
            continue
    quoted.pop("", None)
    openings.pop("", None)
    return KnownMails(ids, frozenset(subjects), openings, quoted)


def _place(file: File, name: str) -> str:
    return f"{file.path or file.name}{name}"


def _message(data: bytes, name: str, place: str, known: KnownMails) -> Iterator[Part]:
    message = _parsed(data)
    headers = {field: text for field in _FIELDS if (text := _header(message, field))}
    text, links, attachments = _texts(message)
    answered = list(dict.fromkeys(reversed(_ids(message, "references", "in-reply-to"))))  # the nearest first
    writer = MailWriter(headers, _ids(message, "message-id"), answered, place, known)
    writer.write(text)
    metadata = {**headers, "date": _date(headers.get("date", ""))} if "date" in headers else headers
    yield writer.builder.extracted(headers.get("subject", ""), name=name, metadata=metadata, links=links)
    names: dict[str, int] = {}
    for filename, content in attachments:
        count = names[filename] = names.get(filename, 0) + 1
        yield File(f"{name}/{filename}" if count == 1 else f"{name}/{count}/{filename}", content=content)


def _texts(message: Message) -> tuple[str, list[str], list[tuple[str, bytes]]]:
    """Return the text of a message, the targets of its links, and its attachments."""
    alternatives = _alternatives(message)
    texts: list[str] = []
    links: list[str] = []
    attachments: list[tuple[str, bytes]] = []
    for part in _leaves(message):
        filename = _filename(part)
        # A leaf of type multipart has no boundary, so its content is one text.
        is_text = part.get_content_maintype() in ("text", "multipart")
        if filename or part.get_content_disposition() == "attachment" or not is_text:
            if filename and (content := _content(part)) is not None:
                attachments.append((filename, content))
        elif id(part) not in alternatives:
            text, targets = _body(part)
            texts.append(text)
            links += targets
    return "\n\n".join(texts), links, attachments


def _ids(message: Message, *fields: str) -> list[str]:
    """Return the ids in headers, without their brackets."""
    return re.findall(r"<([^<>\s]+)>", " ".join(_header(message, field) for field in fields))


def _header(message: Message, field: str) -> str:
    """Return a header as text; a malformed one as it is written."""
    try:
        value = message[field]
    except Exception:  # the parser of the standard library raises many kinds for malformed headers
        value = dict(message.raw_items()).get(field, "")
    return " ".join(clean(str(value or "")).split())


def _date(header: str) -> str:
    """Return the date of a message in ISO 8601, which filters compare; a malformed date is returned unchanged."""
    try:
        return parsedate_to_datetime(header).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return header


def _leaves(message: Message) -> Iterator[Any]:
    """Yield the parts that hold no others, in order."""
    return islice((part for part in message.walk() if not part.is_multipart()), _MAX_PARTS)


def _alternatives(message: Message) -> set[int]:
    """Return the `id`s of HTML parts whose message has the same text as plain text."""
    alternatives = set[int]()
    for part in message.walk():
        if part.get_content_type() == "multipart/alternative" and part.is_multipart():
            leaves = [(leaf.get_content_type(), leaf) for leaf in _leaves(part)]
            if any(kind == "text/plain" and (_content(leaf) or b"").strip() for kind, leaf in leaves):
                alternatives.update(id(leaf) for kind, leaf in leaves if kind == "text/html")
    return alternatives


def _filename(part: Message) -> str:
    try:
        name = part.get_filename() or ""
    except Exception:  # as for headers
        name = ""
    return file_name(name).replace("/", "_").replace("\\", "_").strip()


def _content(part: Message) -> bytes | None:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else None


def _body(part: Message) -> tuple[str, list[str]]:
    """Return the text of a part and the targets of its links."""
    data, charset = _content(part) or b"", str(part.get_content_charset() or "")
    try:
        text = data.decode(charset or "utf-8")
    except (LookupError, UnicodeDecodeError):
        text = decoded(data, charset) or ""
    text = clean(text)
    if part.get_content_type() != "text/html":
        return text, []
    page = html_text(marked_quotations(text))
    return page.text, list(page.links)


FORMATS = (
    Format("e-mail", (".eml", ".emlx"), read, by_content=is_mail),
    Format("mailbox", _MAILBOXES, read_mailbox, by_content=lambda head, _: bool(_MAILBOX.match(head[:4096]))),
)
