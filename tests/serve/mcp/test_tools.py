"""Assistants reach indexes through MCP: in memory, over stdio and over HTTP, by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any, TypeVar

import pytest

pytest.importorskip("fastapi", reason='needs the extra "serve"')
pytest.importorskip("mcp", reason='needs the extra "serve"')

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from tests.llm_server import LLMServer
from tests.operators.query.tickets import tickets_table
from tests.serve.conftest import DOCUMENTS, EMOJI, Running, serving, wait_until

from graphwright import Index
from graphwright.models.fake import HashEncoder
from graphwright.models.settings import LLMSettings
from graphwright.operators.run import NOT_FOLLOWED
from graphwright.serve.catalog import Catalog
from graphwright.serve.mcp.results import address
from graphwright.serve.mcp.server import create_mcp
from graphwright.serve.server import Library
from graphwright.serve.settings import ServeSettings

READING = {
    "ask",
    "retrieve",
    "query",
    "schema",
    "read_passage",
    "find_entities",
    "neighbours",
    "paths_between",
    "list_documents",
    "status",
}
WRITING = {"add_document", "remove_document"}
_T = TypeVar("_T")
Work = Callable[[Client], Awaitable[_T]]


@contextmanager
def library(*folders: str, data: Path, **values: Any) -> Iterator[Library]:
    settings = ServeSettings(data=data, **values)
    catalog = Catalog.open(folders, encoder=HashEncoder())
    opened = Library.of(catalog, settings)
    try:
        yield opened
    finally:
        opened.jobs.close()
        opened.workers.close()
        catalog.close()


def within(opened: Library, work: Work[_T], mode: str = "auto") -> _T:
    """Run work with a client in memory."""

    return asyncio.run(outcome(Client(create_mcp(opened, writing=opened.settings.allow_write), mode=mode), work))


async def outcome(client: Client, work: Work[_T]) -> _T:
    """Run work with a client; its error is raised after the connection has ended, and so not in a group."""
    async with client:
        try:
            return await work(client)
        except MCPError as raised:
            error = raised
    raise error


@pytest.fixture(scope="module")
def cities_library(cities: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with library(f"cities={cities}", data=tmp_path_factory.mktemp("data")) as opened:
        yield opened


def call(opened: Library, tool: str, **arguments: Any) -> Any:
    return within(opened, lambda client: client.call_tool(tool, arguments))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_mcp_tools_are_described(cities_library: Library, mode: str) -> None:
    tools = within(cities_library, lambda client: client.list_tools(), mode).tools
    assert {tool.name for tool in tools} == READING
    for tool in tools:
        assert tool.description and tool.title and tool.output_schema and tool.annotations
        assert tool.annotations.read_only_hint
        assert "index" not in tool.input_schema["properties"]  # there is only one


def test_mcp_answer_has_citations_in_both_forms(cities_library: Library) -> None:
    result = call(cities_library, "ask", question="On which river does Graz lie?", method="bm25")
    answer = result.structured_content
    citation = answer["citations"][0]
    assert EMOJI[citation["start"] : citation["end"]] == citation["text"]  # code points
    assert citation["address"] == "graphwright://indexes/cities/documents/graz"
    text = result.content[0].text
    assert f"[1] graz, characters {citation['start']}-{citation['end']}" in text and answer["answer"] in text


def test_mcp_answer_names_other_copies(tmp_path: Path) -> None:
    with Index.create(tmp_path / "dams", encoder=HashEncoder()) as index:
        index.add([{"id": f"{n}.txt", "text": "The Solvang dam was built by Kari Lund in 1931."} for n in "abcde"])
    with library(str(tmp_path / "dams"), data=tmp_path / "data") as opened:
        result = call(opened, "ask", question="Who built the Solvang dam?", method="bm25")
    citation = result.structured_content["citations"][0]
    assert sorted([citation["document"], *citation["also_in"]]) == [f"{n}.txt" for n in "abcde"]
    assert f"also in {', '.join(citation['also_in'][:3])} and 1 more: “" in result.content[0].text


def test_mcp_instruction_reaches_model_and_is_noted_without_one(cities_library: Library, tmp_path: Path) -> None:
    asked = {"question": "On which river does Graz lie?", "method": "bm25", "instruction": "in German"}
    offline = call(cities_library, "ask", **asked)
    assert offline.structured_content["instructed"] is False and NOT_FOLLOWED in offline.content[0].text
    with Index.create(tmp_path / "cities", encoder=HashEncoder()) as index:
        index.add(DOCUMENTS)
    reply = {"found": True, "text": "An der Mur.", "citations": []}
    with (
        LLMServer([json.dumps(reply)]) as llm,
        library(str(tmp_path / "cities"), data=tmp_path / "data", llm=LLMSettings("any", llm.url)) as opened,
    ):
        told = call(opened, "ask", **asked)
    assert told.structured_content["instructed"] is True and NOT_FOLLOWED not in told.content[0].text
    assert '{"instruction": "in German"}' in llm.requests[0].json["messages"][0]["content"]


def test_query_result_has_value_and_sources(tmp_path: Path) -> None:
    with Index.create(tmp_path / "work", encoder=HashEncoder()) as index:
        index.add([tickets_table(30)])
    with library(str(tmp_path / "work"), data=tmp_path / "data") as opened:
        result = call(
            opened, "query", query='count(tickets where status = "open")', filter={"documents": ["tickets.csv"]}
        )
        assert result.structured_content["value"] == 20
        text = result.content[0].text
        assert "the number of tickets whose status is open: 20" in text and "Sources (10 of 20)" in text
        assert "type tickets (30): id, status, owner" in call(opened, "schema").content[0].text
        wrong = call(opened, "query", query="tickets.statsu")
        assert wrong.is_error and "Did you mean 'status'?" in wrong.content[0].text


def test_mcp_passages_as_of_date_leave_out_later_documents(tmp_path: Path) -> None:
    with Index.create(tmp_path / "memos", encoder=HashEncoder()) as index:
        index.add([{"id": str(year), "text": "A memo.", "date": f"{year}-06-15"} for year in (2023, 2024)])
    with library(str(tmp_path / "memos"), data=tmp_path / "data") as opened:
        found = call(opened, "retrieve", question="Which memo?", as_of="2024-01")
        assert [passage["document"] for passage in found.structured_content["passages"]] == ["2023"]
        assert "give a date" in call(opened, "ask", question="Which memo?", as_of="soon").content[0].text


def test_ask_without_answer_reports_not_found(cities_library: Library) -> None:
    result = call(cities_library, "ask", question="Who painted the Mona Lisa?")
    assert not result.is_error and result.structured_content["found"] is False
    assert result.structured_content["short"] == []


def test_mcp_passages_are_found_and_read(cities_library: Library) -> None:
    found = call(cities_library, "retrieve", question="Where was Ida Pfeiffer born?", method="bm25", top_k=2)
    passage = found.structured_content["passages"][0]
    assert passage["document"] == "pfeiffer" and len(found.structured_content["passages"]) == 2
    place = {name: passage[name] for name in ("document", "start", "end")}
    assert call(cities_library, "read_passage", **place).structured_content["text"] == passage["text"]
    other = call(cities_library, "read_passage", document="a/b#c.md", start=0, end=4)
    assert other.structured_content["text"] == "Linz"


def test_mcp_graph_is_explored(cities_library: Library) -> None:
    entities = call(cities_library, "find_entities", query="Ida").structured_content["entities"]
    assert "Ida Pfeiffer" in {entity["name"] for entity in entities}
    about = call(cities_library, "neighbours", entity="Ida Pfeiffer")
    assert about.structured_content["passages"] and "Statements" in about.content[0].text
    paths = call(cities_library, "paths_between", source="Linz", target="Vienna")
    assert all(path[0]["name"] == "Linz" and path[-1]["name"] == "Vienna" for path in paths.structured_content["paths"])


def test_mcp_method_is_enumeration(cities_library: Library) -> None:
    tools = {tool.name: tool.input_schema for tool in within(cities_library, lambda client: client.list_tools()).tools}
    for name in ("ask", "retrieve"):
        assert {None, "bm25", "ppr"} < set(tools[name]["properties"]["method"]["enum"])


def test_mcp_documents_and_status_are_listed(cities_library: Library) -> None:
    listed = call(cities_library, "list_documents", limit=2, offset=1)
    assert [item["id"] for item in listed.structured_content["documents"]] == ["graz", "pfeiffer"]
    assert "2-3 of 4" in listed.content[0].text
    (index,) = call(cities_library, "status").structured_content["indexes"]
    assert (index["name"], index["documents"], index["llm"]) == ("cities", 4, None)


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("ask", {"question": "Who?", "index": "other"}, "There is no index 'other'"),
        ("ask", {"question": " "}, "question"),
        ("ask", {"question": "Who?", "method": "odd"}, "odd"),
        ("ask", {"question": "Who?", "base_url": "http://evil"}, "base_url"),
        ("ask", {"question": "x" * 10_000}, "this server takes"),
        ("read_passage", {"document": "../../etc/passwd"}, "There is no document"),
        ("neighbours", {"entity": "Nobody At All"}, "No node"),
        ("retrieve", {}, "question"),
    ],
)
def test_mcp_wrong_call_is_readable_error(
    cities_library: Library, tool: str, arguments: dict[str, Any], expected: str
) -> None:
    result = call(cities_library, tool, **arguments)
    assert result.is_error and expected in result.content[0].text
    assert str(cities_library.catalog["cities"].path) not in result.content[0].text


@pytest.mark.parametrize("tool", ["drop", "add_document"])
def test_unknown_tool_raises(cities_library: Library, tool: str) -> None:
    result = call(cities_library, tool, text="Graz")
    assert result.is_error and f"Unknown tool: {tool}" in result.content[0].text


def test_mcp_unexpected_error_is_hidden(cities_library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("graphwright.serve.views.documents", fail)
    result = call(cities_library, "list_documents")
    assert result.is_error and "secret" not in result.content[0].text


def test_mcp_resources_are_read(cities_library: Library) -> None:
    listed = within(cities_library, lambda client: client.list_resources()).resources
    uris = [resource.uri for resource in listed]
    assert uris[0] == "graphwright://indexes/cities/stats" and len(uris) == 5
    for uri in [*uris, address("cities", "entities", "Ida Pfeiffer")]:
        (content,) = within(cities_library, lambda client, uri=uri: client.read_resource(uri)).contents  # type: ignore[misc]
        assert content.uri == uri
        if content.mime_type == "application/json":
            json.loads(content.text)
    document = within(cities_library, lambda client: client.read_resource(address("cities", "documents", "a/b#c.md")))
    assert document.contents[0].text == DOCUMENTS[1]["text"]
    templates = within(cities_library, lambda client: client.list_resource_templates()).resource_templates
    assert "graphwright://indexes/{index}/documents/{document}" in {template.uri_template for template in templates}


def test_mcp_resources_are_paged(cities_library: Library) -> None:
    async def pages(client: Client) -> list[list[str]]:
        result, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            result.append([resource.name for resource in page.resources])
            if (cursor := page.next_cursor) is None:
                return result

    server = create_mcp(cities_library, writing=False, page=2)
    assert asyncio.run(outcome(Client(server), pages)) == [
        ["cities: stats", "a/b#c.md"],
        ["graz", "pfeiffer"],
        ["vienna"],
    ]


@pytest.mark.parametrize(
    "uri",
    [
        "graphwright://indexes/cities/documents/..%2F..%2Fetc%2Fpasswd",
        "graphwright://indexes/other/stats",
        "graphwright://indexes/cities",
        "file:///etc/passwd",
    ],
)
def test_mcp_unknown_resource_raises(cities_library: Library, uri: str) -> None:
    with pytest.raises(MCPError, match=r"There is no|Unknown resource"):
        within(cities_library, lambda client: client.read_resource(uri))


def test_mcp_indexes_are_selected_by_name(cities: Path, tmp_path: Path) -> None:
    Index.create(tmp_path / "mail", encoder=HashEncoder()).close()
    with library(f"cities={cities}", str(tmp_path / "mail"), data=tmp_path / "data") as opened:
        tools = within(opened, lambda client: client.list_tools()).tools
        assert all("index" in tool.input_schema["properties"] for tool in tools)
        unnamed = call(opened, "retrieve", question="Where is Graz?")
        assert unnamed.is_error and "cities, mail" in unnamed.content[0].text
        named = call(opened, "retrieve", question="Where is Graz?", index="cities")
        assert named.structured_content["index"] == "cities"
        assert len(call(opened, "status").structured_content["indexes"]) == 2
        names = [r.name for r in within(opened, lambda client: client.list_resources()).resources]
        assert names == ["cities: stats", "a/b#c.md", "graz", "pfeiffer", "vienna", "mail: stats"]


def test_mcp_documents_are_changed_where_allowed(tmp_path: Path) -> None:
    Index.create(tmp_path / "cities", encoder=HashEncoder()).close()
    with library(str(tmp_path / "cities"), data=tmp_path / "data", allow_write=True) as opened:
        opened.jobs.start()
        assert {tool.name for tool in within(opened, lambda client: client.list_tools()).tools} == READING | WRITING
        added = call(opened, "add_document", id="graz", text="Graz lies on the Mur.")
        assert added.structured_content["job"]["changes"]["added"] == 1 and added.content[0].text == "Done: 1 added."
        assert call(opened, "list_documents").structured_content["total"] == 1
        removed = call(opened, "remove_document", document="graz")
        assert removed.structured_content["job"]["state"] == "done"
        assert call(opened, "remove_document", document="graz").is_error


def over_http(server: Running, work: Work[_T], key: str = "", mode: str = "auto", **headers: str) -> _T:
    """Run work with a client over HTTP."""

    async def run() -> _T:
        sent = {**headers, **({"Authorization": f"Bearer {key}"} if key else {})}
        async with httpx2.AsyncClient(headers=sent) as http:
            transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
            return await outcome(Client(transport, mode=mode), work)

    return asyncio.run(run())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_mcp_works_over_http(server: Running, mode: str) -> None:
    async def work(client: Client) -> Any:
        await client.list_tools()
        await client.read_resource(address("cities", "documents", "graz"))
        return await client.call_tool("ask", {"question": "On which river does Graz lie?", "method": "bm25"})

    result = over_http(server, work, mode=mode)
    assert result.structured_content["citations"][0]["document"] == "graz"


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPTED = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_mcp_post_is_not_redirected(server: Running, path: str) -> None:
    reply = server.client.post(path, json=PING, headers=ACCEPTED, follow_redirects=False)
    assert reply.status_code == 200, reply.text


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_mcp_other_hosts_and_origins_are_refused(server: Running, header: dict[str, str]) -> None:
    reply = server.client.post("/mcp", json=PING, headers={**ACCEPTED, **header})
    assert reply.status_code in (403, 421)


def test_mcp_over_http_checks_keys(cities: Path, tmp_path: Path) -> None:
    with serving(cities, data=tmp_path / "data", allow_write=True) as server:
        keys = server.app.state.server.keys
        (reader, _), (writer, _) = keys.create("reader", "read", ["cities"]), keys.create("writer", "write", ["cities"])
        (other, _) = keys.create("other", "admin", ["mail"])
        assert server.client.post("/mcp", json=PING, headers=ACCEPTED).status_code == 401
        wrong = {**ACCEPTED, "Authorization": "Bearer gw_wrong"}
        assert server.client.post("/mcp", json=PING, headers=wrong).status_code == 401
        assert {tool.name for tool in over_http(server, lambda c: c.list_tools(), reader).tools} == READING
        assert {tool.name for tool in over_http(server, lambda c: c.list_tools(), writer).tools} == READING | WRITING
        question = {"question": "Where is Graz?", "index": "cities"}
        hidden = over_http(server, lambda c: c.call_tool("retrieve", question), other)
        assert hidden.is_error and "none that this key sees" in hidden.content[0].text
        assert over_http(server, lambda c: c.list_resources(), other).resources == []
        assert over_http(server, lambda c: c.call_tool("status", {}), other).structured_content == {"indexes": []}
        with pytest.raises(MCPError, match="There is no"):
            over_http(server, lambda c: c.read_resource(address("cities", "documents", "graz")), other)
        refused = over_http(server, lambda c: c.call_tool("remove_document", {"document": "graz"}), reader)
        assert refused.is_error and "Unknown tool" in refused.content[0].text


def test_mcp_changes_are_audited(tmp_path: Path) -> None:
    Index.create(tmp_path / "cities", encoder=HashEncoder()).close()
    with serving(tmp_path / "cities", data=tmp_path / "data", allow_write=True) as server:
        added = over_http(server, lambda c: c.call_tool("add_document", {"text": "Graz lies on the Mur."}))
        assert added.structured_content["job"]["state"] == "done"
        log = tmp_path / "data" / "audit.jsonl"
        wait_until(lambda: log.exists() and '"/mcp"' in log.read_text())
        entries = [json.loads(line) for line in log.read_text().splitlines()]
        assert [entry["index"] for entry in entries if entry["path"] == "/mcp"] == ["cities"]


MAIN = "import sys; from graphwright.cli.app import main; main(sys.argv[1:])"


@pytest.mark.slow
def test_mcp_stdout_holds_protocol_only(tmp_path: Path) -> None:
    Index.create(tmp_path / "cities").close()
    lines = [json.dumps({**PING, "id": number}) for number in range(3)] + ["this is no JSON"]
    command = [sys.executable, "-c", MAIN, "mcp", str(tmp_path / "cities"), "--data", str(tmp_path / "data")]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdin and process.stdout
        process.stdin.write("".join(f"{line}\n" for line in lines))
        process.stdin.flush()
        printed = [process.stdout.readline() for _ in range(3)]  # a client waits for its replies before it ends
        rest, errors = process.communicate(timeout=120)
    messages = [json.loads(line) for line in (*printed, *rest.splitlines())]
    assert {0, 1, 2} <= {message.get("id") for message in messages}
    assert all(message["jsonrpc"] == "2.0" for message in messages) and "Serving cities over stdio" in errors


@pytest.mark.slow
def test_mcp_works_over_stdio(tmp_path: Path) -> None:
    with Index.create(tmp_path / "cities") as index:
        index.add(DOCUMENTS)
    command = ["mcp", str(tmp_path / "cities"), "--data", str(tmp_path / "data"), "--allow-write"]

    async def run() -> Any:
        server = StdioServerParameters(command=sys.executable, args=["-c", MAIN, *command], env=dict(os.environ))
        async with Client(server) as client:
            tools = await client.list_tools()
            answer = await client.call_tool("ask", {"question": "On which river does Graz lie?"})
            added = await client.call_tool("add_document", {"id": "new", "text": "Steyr lies on the Enns."})
            after = await client.call_tool("ask", {"question": "On which river does Steyr lie?"})
            return tools, answer, added, after

    tools, answer, added, after = asyncio.run(run())
    assert {tool.name for tool in tools.tools} == READING | WRITING
    assert answer.structured_content["citations"][0]["document"] == "graz"
    assert added.structured_content["job"]["state"] == "done"
    assert after.structured_content["citations"][0]["document"] == "new"
