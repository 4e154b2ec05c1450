"""Queries in SPARQL, asked of a real endpoint over HTTP that the test starts: a store of pyoxigraph."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest
from tests.cli.command import graphwright

from graphwright.data import SparqlEndpoint, sparql
from graphwright.errors import DataError, OptionError

pyoxigraph = pytest.importorskip("pyoxigraph")
RIVERS = """
@prefix : <http://example.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:mur :km 453 ; :name "Mur"@de ; :into :drava ; :alpine true ; :depth 1.5 ; :seen "2024-05-01"^^xsd:date .
:drava :km 710 ; :name "Drava" . [] :name "Nameless" .
"""
NAMES = "PREFIX : <http://example.org/> # names\nSELECT ?name ?km WHERE { ?r :name ?name OPTIONAL { ?r :km ?km } }"


@dataclass
class Endpoint:
    """An endpoint; `answer`: the status, headers and body to send instead of results. `seen`: the requests."""

    url: str
    answer: tuple[int, dict[str, str], bytes] | None = None
    seconds: float = 0.0  # before each answer
    seen: list[tuple[dict[str, str], str]] = field(default_factory=list)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    store = pyoxigraph.Store()
    store.load(RIVERS.encode(), format=pyoxigraph.RdfFormat.TURTLE)

    def results(query: str) -> tuple[int, dict[str, str], bytes]:
        try:
            found = store.query(query).serialize(format=pyoxigraph.QueryResultsFormat.JSON)
        except SyntaxError as error:
            return 400, {"Content-Type": "text/plain"}, str(error).encode()
        return 200, {"Content-Type": "application/sparql-results+json"}, found

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            endpoint.seen.append((dict(self.headers), body))
            time.sleep(endpoint.seconds)
            status, headers, content = endpoint.answer or results(parse_qs(body)["query"][0])
            self.send_response(status)
            for header in headers.items():
                self.send_header(*header)
            self.end_headers()
            with suppress(BrokenPipeError):
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    endpoint = Endpoint(f"http://127.0.0.1:{server.server_port}/sparql")
    yield endpoint
    server.shutdown()
    thread.join()
    server.server_close()


def test_select_returns_rows_with_typed_values(endpoint: Endpoint) -> None:
    result = SparqlEndpoint(endpoint.url).query(NAMES)
    assert list(result.columns) == ["name", "km"] and not result.more
    assert sorted(result.rows, key=str) == [["Drava", 710], ["Mur", 453], ["Nameless", None]]
    result = SparqlEndpoint(endpoint.url).query("SELECT ?p ?o { <http://example.org/mur> ?p ?o }")
    values = {row[0].rpartition("/")[2]: row[1] for row in result.rows}
    assert values["alpine"] is True and values["depth"] == 1.5 and values["seen"] == "2024-05-01"
    assert values["into"] == "http://example.org/drava"


def test_ask_returns_yes_or_no(endpoint: Endpoint) -> None:
    asked = SparqlEndpoint(endpoint.url)
    assert asked.query("BASE <http://example.org/> ASK { <mur> ?p 453 }").rows == ((True,),)
    assert asked.query("ask{<http://example.org/mur> ?p 7}").to_dict() == {
        "columns": ["ASK"], "rows": [[False]], "more": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    "query",
    [
        "INSERT DATA { <a:b> <a:c> 1 }",
        "PREFIX x: <http://x/> # SELECT\nDELETE WHERE { ?s ?p ?o }",
        "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "DESCRIBE <a:b>",
        "DROP ALL",
        "",
        "{}",
    ],
)
def test_query_of_another_form_is_not_sent(endpoint: Endpoint, query: str) -> None:
    with pytest.raises(OptionError, match="only SELECT and ASK are sent"):
        SparqlEndpoint(endpoint.url).query(query)
    assert not endpoint.seen


def test_update_after_a_query_is_refused(endpoint: Endpoint) -> None:
    with pytest.raises(DataError, match=r"refused the query \(400 Bad Request\): .*expected"):
        SparqlEndpoint(endpoint.url).query("SELECT * {} ; DROP ALL")
    assert SparqlEndpoint(endpoint.url).query("ASK { ?s ?p 453 }").rows == ((True,),)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((401, {}, b""), "Set SPARQL_USERNAME and SPARQL_PASSWORD"),
        ((404, {}, b""), "there is no endpoint"),
        ((301, {"Location": "https://example.org/sparql"}, b""), "leads to https://example.org/sparql"),
        ((500, {}, b"<html>Oops"), r"refused the query \(500 Internal Server Error\)\."),
        ((200, {"Content-Type": "text/html"}, b"<html>"), "is no endpoint of SPARQL: it sent text/html"),
        ((200, {}, b'{"head": {}}'), "sent no results of SPARQL"),
        ((200, {}, b"[]"), "sent no results of SPARQL"),
        ((200, {"Content-Length": "9"}, b"{"), "cannot be asked"),
    ],
)
def test_wrong_answer_is_explained(endpoint: Endpoint, answer: tuple[int, dict[str, str], bytes], message: str) -> None:
    endpoint.answer = answer
    with pytest.raises(DataError, match=message):
        SparqlEndpoint(endpoint.url).query(NAMES)


def test_limits_of_answers_hold(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = SparqlEndpoint(endpoint.url)
    monkeypatch.setattr(sparql, "MAX_ROWS", 2)
    result = asked.query(NAMES)
    assert len(result.rows) == 2 and result.more
    monkeypatch.setattr(sparql, "_MAX_BYTES", 10)
    with pytest.raises(DataError, match="Add a LIMIT"):
        asked.query(NAMES)
    monkeypatch.setattr(sparql, "QUERY_SECONDS", 0.1)
    endpoint.seconds = 0.5
    with pytest.raises(DataError, match=r"did not answer within 0\.1 seconds"):
        asked.query(NAMES)


def test_credentials_come_from_the_environment(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARQL_USERNAME", "me")
    monkeypatch.setenv("SPARQL_PASSWORD", "secret")
    SparqlEndpoint(endpoint.url).query(NAMES)
    assert endpoint.seen[0][0]["Authorization"] == "Basic bWU6c2VjcmV0"
    with pytest.raises(OptionError, match="leave the user and the password out of the address"):
        SparqlEndpoint("https://me:secret@example.org/sparql")


def test_command_prints_rows(endpoint: Endpoint) -> None:
    done = graphwright("query", "--sparql", f"{NAMES} ORDER BY DESC(?km) LIMIT 2", endpoint.url)
    assert (done.returncode, done.stdout) == (0, "name\tkm\nDrava\t710\nMur\t453\n")
    done = graphwright("query", "--sparql", "ASK {}", endpoint.url, "--json")
    assert json.loads(done.stdout) == {"columns": ["ASK"], "rows": [[True]], "more": False}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--sparql", "ASK {}"), 2, "takes a query in SPARQL and the address of an endpoint"),
        (("--sparql",), 2, "takes a query in SPARQL and the address of an endpoint"),
        (("--sparql", "ASK {}", "http://localhost:1", "--cypher"), 2, "and nothing else"),
        (("--sparql", "ASK {}", "rivers.ttl"), 2, "is no endpoint of SPARQL"),
        (("--sparql", "DROP ALL", "http://localhost:1"), 2, "only SELECT and ASK"),
        (("--sparql", "ASK {}", "http://localhost:1"), 1, "http://localhost:1 cannot be asked"),
        (("ASK {}", "http://localhost:1"), 2, "an endpoint needs --sparql"),
    ],
)
def test_wrong_use_is_explained(arguments: tuple[str, ...], code: int, message: str) -> None:
    done = graphwright("query", *arguments)
    assert done.returncode == code and message in done.stderr and "Traceback" not in done.stderr
