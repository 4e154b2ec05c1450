"""Messages in the JSON of chat programs: Slack, Discord, Teams, Telegram, Messenger, Google Chat, and others."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from graphwright.data.formats.format import Extracted
from graphwright.data.records.read import json_value
from graphwright.data.records.turns import Turn, turns_text
from graphwright.text.dates import date_text


class Export(NamedTuple):
    """The paths of a program's messages to what they say, in order; all have the `needed` keys, and one of `types`.

    `name`: of the name of a speaker, in another message of his, which the speaker of each is an id of.
    """

    needed: tuple[str, ...]
    speaker: tuple[str, ...]
    time: str
    text: str
    id: str = ""
    reply_to: str = ""
    types: Sequence[Any] = ()
    name: str = ""


_SLACK_EXPORT = Export(
    ("ts", "text"),
    ("user_profile.real_name", "user_profile.display_name", "user_profile.name", "username", "user", "bot_id"),
    "ts", "text", "ts", "thread_ts",
)  # fmt: skip
_MESSENGER = Export(("sender_name", "timestamp_ms"), ("sender_name",), "timestamp_ms", "content")  # and Instagram
_EXPORTS = (
    _SLACK_EXPORT,
    Export(  # DiscordChatExporter
        ("timestamp", "content", "author"),
        ("author.nickname", "author.global_name", "author.name", "author.username"),
        "timestamp", "content", "id", "reference.messageId",
    ),
    Export(  # Microsoft Graph, of Teams
        ("createdDateTime", "body", "from"),
        ("from.user.displayName", "from.application.displayName", "from.user.id"),
        "createdDateTime", "body.content", "id", "replyToId",
    ),
    Export(  # Telegram Desktop
        ("id", "type", "date", "text"), ("from", "actor", "from_id"), "date", "text", "id",
        "reply_to_message_id", ("message", "service"),
    ),
    _MESSENGER,
    Export(  # Google Chat
        ("creator", "created_date"), ("creator.name", "creator.email"), "created_date", "text", "message_id",
    ),
    Export(  # Matrix, of Element
        ("sender", "origin_server_ts", "content"), ("sender",), "origin_server_ts", "content.body", "event_id",
        "content.m.relates_to.m.in_reply_to.event_id", name="content.displayname",
    ),
    Export(("u", "msg", "ts"), ("u.name", "u.username"), "ts", "msg", "_id", "tmid"),  # Rocket.Chat
    Export(("sender_full_name", "timestamp", "content"), ("sender_full_name",), "timestamp", "content", "id"),  # Zulip
    Export(("role", "content"), ("name", "role"), "created_at", "content"),  # chats with language models
    Export(("author", "content", "create_time"), ("author.name", "author.role"), "create_time", "content.parts", "id"),
    Export(("speaker", "text"), ("speaker",), "start", "text"),  # transcripts of recordings
    Export(("start", "end", "text"), (), "start", "text"),
    Export(("start", "duration", "text"), (), "start", "text"),
)  # fmt: skip
_TITLES = ("channel.name", "name", "title")
_SLACK = re.compile(r"<(?P<mark>[@#!]?)(?P<target>[^<>|\s]+(?:\^[^<>|]*)?)(?:\|(?P<label>[^<>]*))?>")
_SLACK_TIME = re.compile(r"\d{10}\.\d{1,6}")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def chats_of(value: Any, path: Path | None = None) -> list[Extracted]:
    """Return the texts of an export: a list of messages, an object with such a list, or with lists of such objects.

    `path`: the file; an export of Slack has the names of the people in `users.json` of the folder above.

    >>> message = {"sender_name": "Anna", "timestamp_ms": 1767200400000, "content": "Hi."}
    >>> chats_of({"name": "Team", "messages": [message]})[0].text
    '2025-12-31\\n\\nAnna (17:00): Hi.'
    """
    if isinstance(value, list) and (trees := [chat for chat in map(_of_tree, value) if chat]):
        return [chat for tree in trees for chat in chats_of(tree)]
    for messages in [value] if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        if isinstance(messages, list) and (export := _export_of(messages)):
            people = _people(path.parent.parent / "users.json") if path and export is _SLACK_EXPORT else {}
            return [_read(messages, export, value if isinstance(value, dict) else {}, people)]
    parts = list(value.values()) if isinstance(value, dict) else []
    lists = [item for part in parts for item in (part.values() if isinstance(part, dict) else [part])]
    inner = [item for items in lists if isinstance(items, list) for item in items if isinstance(item, dict)]
    chats = [chat for item in inner for chat in chats_of(item, path)]
    return [chat for chat in chats if any(field.name == "id" for r in chat.records[:1] for field in r.fields)]


def _of_tree(value: Any) -> dict[str, Any]:
    """Return a chat of an export of ChatGPT, whose messages are the nodes of a tree, with a list of them; else {}."""
    nodes = value.get("mapping") if isinstance(value, dict) else None
    found = (
        [node.get("message") for node in nodes.values() if isinstance(node, dict)] if isinstance(nodes, dict) else []
    )
    messages = [message for message in found if isinstance(message, dict)]
    return {"title": value.get("title"), "messages": messages} if messages else {}


def _people(path: Path) -> dict[str, str]:
    """Return the names in a file of Slack by id, none if there is no such file."""
    users = json_value(path) if path.is_file() else None
    known = [user for user in users if isinstance(user, dict)] if isinstance(users, list) else []
    return {_first(user, ("id",)): _first(user, ("profile.real_name", "real_name", "name")) for user in known}


def _export_of(messages: Sequence[Any]) -> Export | None:
    """Return the export whose keys the messages have; None for other objects."""
    sample = messages[:100]
    if not sample or not all(isinstance(message, dict) for message in sample):
        return None
    for export in _EXPORTS:
        fitting = [m for m in sample if all(key in m for key in export.needed)]
        fitting = [m for m in fitting if not export.types or m["type"] in export.types]
        fitting = [
            m for m in fitting if _first(m, export.speaker) or (not export.speaker and _time(_at(m, export.time)))
        ]
        if len(fitting) * 2 > len(sample):
            times = [str(_at(message, export.time)) for message in fitting]
            return export if export is not _SLACK_EXPORT or all(map(_SLACK_TIME.fullmatch, times)) else None
    return None


def _read(messages: Sequence[Any], export: Export, around: Mapping[str, Any], people: Mapping[str, str]) -> Extracted:
    known = [message for message in messages if isinstance(message, dict)]
    names = {**people} | {
        str(m["user"]): name for m in known if "user" in m and (name := _first(m, export.speaker)) != m["user"]
    }
    if export.name:
        names |= {_first(m, export.speaker): name for m in known if (name := _first(m, (export.name,)))}
    turns = [_turn(message, export, names) for message in known]
    if all(turn.time[:1].isdigit() for turn in turns):
        turns.sort(key=lambda turn: turn.time)
    return turns_text(turns, title=_first(around, _TITLES))


def _turn(message: Mapping[str, Any], export: Export, names: Mapping[str, str]) -> Turn:
    identity, answered = (str(_at(message, path) or "") for path in (export.id, export.reply_to))
    speaker = _first(message, export.speaker)
    text = _text(_at(message, export.text), names)
    if export is _MESSENGER:
        speaker, text = _repaired(speaker), _repaired(text)
    attached = [_first(file, ("name", "fileName", "title", "filename")) for file in _files(message)]
    return Turn(
        names.get(speaker, speaker),
        _time(_at(message, export.time)),
        " ".join(filter(None, (text, *(f"<{name}>" for name in attached if name)))),
        identity,
        answered if answered != identity else "",
    )


def _repaired(text: str) -> str:
    """Return a text whose bytes of UTF-8 were written as characters each, as Messenger does.

    >>> _repaired("J\u00c3\u00b6rg")
    'Jörg'
    """
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def _files(message: Mapping[str, Any]) -> list[Any]:
    lists = [message.get(key) for key in ("files", "attachments", "attached_files")]
    files = [item for part in lists if isinstance(part, list) for item in part if isinstance(item, dict)]
    return [*files, *([{"name": message["file_name"]}] if isinstance(message.get("file_name"), str) else [])]


def _time(value: Any) -> str:
    """Return a date and time; a number of seconds from the beginning as 0:12:03."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6:
        return f"{int(value) // 3600}:{int(value) // 60 % 60:02}:{int(value) % 60:02}"
    return date_text(str(value or ""))


def _text(value: Any, names: Mapping[str, str]) -> str:
    """Return a text without the marks of the program: mentions by name, links by their labels."""
    if isinstance(value, list):  # parts, some with a format
        return "".join(_text(part.get("text") if isinstance(part, dict) else part, names) for part in value)
    text = value if isinstance(value, str) else ""

    def shown(match: re.Match[str]) -> str:
        mark, target, label = match["mark"], match["target"], match["label"]
        if _TAG.fullmatch(match[0]) and not label:
            return match[0]
        if mark == "@":
            return f"@{label or names.get(target, target)}"
        return ("#" if mark == "#" else "") + (label or target)

    text = _SLACK.sub(shown, text)
    if "</" in text and _TAG.search(text):
        from graphwright.data.formats.html import html_text

        return html_text(text).text
    return html.unescape(text)


def _first(value: Mapping[str, Any], paths: Sequence[str]) -> str:
    """Return the first text at one of these paths, "" for none."""
    texts = (" ".join(part.split()) for path in paths if isinstance(part := _at(value, path), str))
    return next(filter(None, texts), "")


def _at(value: Any, path: str) -> Any:
    """Return the value at a path; a key may have points itself, as `m.relates_to` of Matrix."""
    keys = path.split(".")
    for end in range(len(keys), 0, -1) if isinstance(value, Mapping) else ():
        if (key := ".".join(keys[:end])) in value:
            return _at(value[key], ".".join(keys[end:])) if end < len(keys) else value[key]
    return None
