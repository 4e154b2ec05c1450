"""Messages in the JSON that chat programs export."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import make_archive
from typing import Any

import pytest

from graphwright.data.documents import read_documents
from graphwright.data.formats.parsing.chat_json import chats_of

SLACK = [
    {
        "type": "message", "user": "U1", "ts": "1767200400.000100", "user_profile": {"real_name": "Ines Dahl"},
        "text": "Falcon moves to <!date^1767225600^{date}|12 January>, <@U2> see <https://a.b|the plan> &amp; wait.",
    },
    {
        "type": "message", "user": "U2", "user_profile": {"real_name": "Marek Toth"}, "ts": "1767200500.000200",
        "thread_ts": "1767200400.000100", "text": "Done.", "files": [{"name": "plan.pdf"}],
    },
]  # fmt: skip
DISCORD = {
    "guild": {"name": "Dam"},
    "channel": {"name": "gate"},
    "messages": [
        {"id": "1", "timestamp": "2026-05-14T18:02:11.5+00:00", "content": "Open?", "author": {"name": "dana"}},
        {
            "id": "2", "timestamp": "2026-05-14T18:03:00+00:00", "content": "No.", "reference": {"messageId": "1"},
            "author": {"name": "femi", "nickname": "Femi Ade"},
        },
    ],
}  # fmt: skip
TEAMS = {
    "value": [
        {
            "id": "1", "createdDateTime": "2026-05-14T18:02:11Z", "from": {"user": {"displayName": "Dana Neu"}},
            "body": {"contentType": "html", "content": "<p>Is it <b>open</b>?</p>"},
        },
        {
            "id": "2", "replyToId": "1", "createdDateTime": "2026-05-14T18:03:00Z", "body": {"content": "No."},
            "from": {"user": {"displayName": "Femi Ade"}},
        },
    ]
}  # fmt: skip
TELEGRAM = {
    "name": "Dam",
    "type": "private_group",
    "messages": [
        {
            "id": 1, "type": "message", "date": "2026-05-14T18:02:11", "date_unixtime": "1778781731", "from": "Dana",
            "text": ["Is ", {"type": "bold", "text": "it"}, " open?"],
        },
        {
            "id": 2, "type": "message", "date": "2026-05-14T18:03:00", "date_unixtime": "1778781780", "from": "Femi",
            "text": "No.", "reply_to_message_id": 1,
        },
    ],
}  # fmt: skip


def turns(value: Any) -> list[dict[str, str]]:
    [part] = chats_of(value)
    return [{field.name: field.text for field in record.fields} for record in part.records]


def test_chat_of_slack_names_people_and_removes_marks() -> None:
    first, second = turns(SLACK)
    assert first["text"] == "Falcon moves to 12 January, @Marek Toth see the plan & wait."
    assert (first["speaker"], first["time"]) == ("Ines Dahl", "2025-12-31 17:00")
    assert (second["reply to"], second["text"]) == (first["id"], "Done. <plan.pdf>")


@pytest.mark.parametrize(("value", "title"), [(SLACK, "day"), (DISCORD, "gate")], ids=["slack", "discord"])
def test_read_documents_export_of_chat_is_one_document(tmp_path: Path, value: Any, title: str) -> None:
    (tmp_path / "day.json").write_text(json.dumps(value), encoding="utf-8")
    [document] = read_documents([tmp_path], print)
    assert (document.id, document.title, document.file) == ("day.json", title, True)
    assert len(document.records) == 2 and document.places is not None and len(document.headings) == 1


@pytest.mark.parametrize(
    ("value", "title", "speakers"),
    [
        (DISCORD, "gate", ["dana", "Femi Ade"]),
        (TEAMS, "", ["Dana Neu", "Femi Ade"]),
        (TELEGRAM, "Dam", ["Dana", "Femi"]),
    ],
    ids=["discord", "teams", "telegram"],
)
def test_chat_of_exports_have_speaker_time_and_reply(value: Any, title: str, speakers: list[str]) -> None:
    [part] = chats_of(value)
    assert part.title == title
    first, second = turns(value)
    assert [turn["speaker"] for turn in (first, second)] == speakers
    assert (first["time"], second["time"]) == ("2026-05-14 18:02:11", "2026-05-14 18:03")
    assert first["text"].casefold().endswith("open?") and second["reply to"] == first["id"] == "1"


@pytest.mark.parametrize(
    "value",
    [
        [{"id": 1, "title": "Pump", "author": "Anna", "date": "2026-05-14", "text": "It lifts water."}],
        {"data": [{"title": "Pump", "content": "It lifts water.", "timestamp": "2026-05-14"}]},
        [],
        {"a": [1, 2]},
        [1, {"role": "user"}],
    ],
)
def test_chats_of_other_values_are_none(value: Any) -> None:
    assert chats_of(value) == []


def telegram(number: int, author: str, text: str, kind: str = "message") -> dict[str, Any]:
    return {"id": number, "type": kind, "date": f"2021-02-0{number}T08:00:00", "from": author, "text": text}


def test_read_documents_account_of_telegram_is_a_document_for_each_chat(tmp_path: Path) -> None:
    chat = {"name": "Lu", "type": "personal_chat", "messages": [telegram(1, "Lu", "Dry?"), telegram(2, "Mo", "Yes.")]}
    club = {"name": "Club", "messages": [telegram(1, "Lu", "", "service"), telegram(3, "Lu", "Welcome.")]}
    export = {"about": "x", "chats": {"list": [chat, {"name": "None", "messages": []}]}, "left_chats": {"list": [club]}}
    (tmp_path / "result.json").write_text(json.dumps(export), encoding="utf-8")
    documents = list(read_documents([tmp_path], print))
    assert [(document.id, document.title) for document in documents] == [
        ("result.json#1", "Lu"),
        ("result.json#2", "Club"),
    ]
    assert {record.type for document in documents for record in document.records} == {"message"}
    assert documents[1].text == "2021-02-03\n\nLu (08:00): Welcome."


def test_chats_of_other_objects_with_an_author_and_a_type_are_none() -> None:
    assert chats_of([telegram(1, "Edda", "I arrived.", "letter"), telegram(2, "Karl", "Good.", "postcard")]) == []


def test_read_documents_slack_people_are_named_by_their_file(tmp_path: Path) -> None:
    messages = [{"type": "message", "user": user, "ts": f"176720040{n}.000100", "text": "Hi <@U1>."} for n, user in
                enumerate(("U1", "U2"))]  # fmt: skip
    (tmp_path / "general").mkdir()
    (tmp_path / "general" / "2026-01-01.json").write_text(json.dumps(messages))
    people = [{"id": "U1", "name": "ines", "profile": {"real_name": "Ines Dahl"}}, {"id": "U2", "name": "marek"}]
    (tmp_path / "users.json").write_text(json.dumps(people))
    archive = Path(make_archive(str(tmp_path.with_name("export")), "zip", tmp_path))
    for place in (tmp_path, archive):
        document = next(document for document in read_documents([place], print) if "general" in document.id)
        assert document.text.endswith("Ines Dahl (17:00): Hi @Ines Dahl.\nmarek (17:00): Hi @Ines Dahl.")


def test_chat_of_messenger_bytes_written_as_characters_are_repaired() -> None:
    message = {"sender_name": "J\u00c3\u00b6rg", "timestamp_ms": 1767200400000, "content": "K\u00c3\u00a4se"}
    [turn] = turns({"messages": [message]})
    assert (turn["speaker"], turn["text"]) == ("Jörg", "Käse")


def test_chat_of_segments_without_speakers_have_times() -> None:
    segments = [{"start": 1.0, "end": 4.0, "text": " It is late."}, {"start": 4.0, "end": 6.0, "text": " Why?"}]
    assert [turn["time"] for turn in turns({"text": "It is late. Why?", "segments": segments})] == [
        "0:00:01",
        "0:00:04",
    ]


def matrix(number: int, sender: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"sender": sender, "origin_server_ts": 1780300800000 + number, "content": content, "event_id": f"${number}"}


def test_chat_of_matrix_has_displayed_names_and_replies() -> None:
    answered = {"m.in_reply_to": {"event_id": "$1"}}
    joined = matrix(0, "@ida:x.org", {"membership": "join", "displayname": "Ida Holm"})
    messages = [
        joined, matrix(1, "@ida:x.org", {"body": "Is the hive open?"}),
        matrix(2, "@bo:x.org", {"body": "No.", "m.relates_to": answered}),
    ]  # fmt: skip
    first, second = turns({"messages": messages})
    assert (first["speaker"], second["speaker"], second["reply to"]) == ("Ida Holm", "@bo:x.org", "$1")


def test_chats_of_chatgpt_are_the_messages_of_each_tree() -> None:
    def node(role: str, time: float | None, *parts: str) -> dict[str, Any]:
        return {"message": {"id": role, "author": {"role": role}, "create_time": time, "content": {"parts": [*parts]}}}

    tree = {
        "a": {"message": None},
        "b": node("user", 1780300800.5, "How long?"),
        "c": node("assistant", 1780300801, "9 h"),
    }
    chats = chats_of([{"title": "Bread", "mapping": tree}, {"title": "Empty", "mapping": {}}])
    assert [(chat.title, len(chat.records)) for chat in chats] == [("Bread", 2)]
    assert "user (08:00): How long?\nassistant (08:00): 9 h" in chats[0].text
