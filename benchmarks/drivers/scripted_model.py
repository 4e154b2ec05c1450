"""The models that all systems ask in peers.py: one encoder, and one scripted language model, behind OpenAI's routes.

The language model answers at once, in the format that the prompt of each system wants, with triples that are given for
each passage. So no system waits for a model or gains by a better one, and what it asks for is counted. A system names
itself as the model. The encoder is the embedded one; each text is encoded once and kept in a file.

    with ScriptedModels(Script.read(folder), CachedEncoder(MiniLM(), file)) as models:
        models.url, models.counts()
"""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from graphwright.models.budget import estimated_tokens
from graphwright.models.protocols import Encoder

Triple = tuple[str, str, str]
_LONGEST = 8  # words of a name that is looked for in a question
_SUMMARY = 1_000  # characters


@dataclass(frozen=True)
class Given:
    """What is given about a passage: its names and its triples."""

    title: str
    text: str
    names: tuple[str, ...]
    triples: tuple[Triple, ...]

    @classmethod
    def of(cls, title: str, text: str, entities: Sequence[str], triples: Sequence[Sequence[str]]) -> Given:
        """Names are the entities and the ends of the triples; a triple without three different parts is left out."""
        kept = tuple((t[0], t[1], t[2]) for t in triples if len(t) == 3 and all(t) and t[0] != t[2])
        ends = (end for head, _, tail in kept for end in (head, tail))
        return cls(title.strip(), text.strip(), tuple(dict.fromkeys(filter(None, (*entities, *ends)))), kept)

    def described(self) -> Iterator[tuple[str, str]]:
        """Yield each name with what the triples say of it."""
        for name in self.names:
            said = [f"{' '.join(triple)}." for triple in self.triples if name in (triple[0], triple[2])]
            yield name, " ".join(said) or f"{name} is named in {self.title}."


class Script:
    """What is given about all passages."""

    def __init__(self, given: Sequence[Given]) -> None:
        self._of_title: dict[str, list[Given]] = {}
        for each in given:
            self._of_title.setdefault(each.title, []).append(each)
        self._names = {name.casefold(): name for each in given for name in each.names}

    @classmethod
    def read(cls, folder: Path) -> Script:
        """Read `corpus.jsonl` and `openie.jsonl` of a folder; a passage without triples has none."""
        triples = {row["id"]: row for row in _rows(folder / "openie.jsonl")}
        none: dict[str, Any] = {"entities": [], "triples": []}
        passages = [(row, triples.get(row["id"], none)) for row in _rows(folder / "corpus.jsonl")]
        return cls([Given.of(row["title"], row["text"], of["entities"], of["triples"]) for row, of in passages])

    def passage(self, prompt: str) -> Given | None:
        """Return the passage that a prompt holds, None for a prompt without one.

        A line with the title stands above the text; or both are a line of JSON, where the text may be a part.
        """
        for line in prompt.splitlines():
            title, text = line.strip().removeprefix("Text: "), prompt
            if line.startswith('{"title"'):
                title, text = (str(part).strip() for part in json.loads(line).values())
            for each in self._of_title.get(title, ()):
                if each.text in text or text in each.text:
                    return each
        return None

    def names_in(self, question: str) -> list[str]:
        """Return the names given anywhere that a question holds, the longest where they overlap, in its order."""
        words = re.findall(r"\w[\w'’.-]*\w|\w", question)
        found, at = list[str](), 0
        while at < len(words):
            for end in range(min(len(words), at + _LONGEST), at, -1):
                phrase = " ".join(words[at:end]).removesuffix("'s")
                if phrase != phrase.lower() and phrase.casefold() in self._names:
                    found.append(phrase)
                    at = end - 1
                    break
            at += 1
        return found


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


# Replies, by the name of the model

Messages = Sequence[Mapping[str, str]]
Reply = Callable[[Script, Messages], str]


def _passage_of(script: Script, messages: Messages) -> Given | None:
    """Return the passage of the last message that holds one."""
    return next(filter(None, (script.passage(each["content"]) for each in reversed(messages))), None)


def _relations(given: Given | None) -> list[dict[str, str]]:
    """Return the triples with the sentence that each makes."""
    return [
        {"source": head, "relation": relation, "target": tail, "description": f"{head} {relation} {tail}."}
        for head, relation, tail in (given.triples if given else ())
    ]


def graphwright(script: Script, messages: Messages) -> str:
    """Entities and relations with descriptions, or one description of several."""
    asked = messages[-1]["content"]
    given = script.passage(asked)
    if given is None and "You join descriptions" in messages[0]["content"]:
        return json.dumps({"description": " ".join(asked.splitlines()[1:])[:_SUMMARY]}, ensure_ascii=False)
    entities = [{"name": name, "type": "", "description": said} for name, said in given.described()] if given else []
    return json.dumps({"entities": entities, "relations": _relations(given)}, ensure_ascii=False)


def fast_graphrag(script: Script, messages: Messages) -> str:
    """A graph, the entities of a question, a summary, or facts that stay as they are."""
    asked, answer = messages[-1]["content"], dict[str, Any]()
    if "\nFacts:\n" in asked:
        answer = {"grouped_facts": []}
    elif "Current:\n" in asked:
        answer = {"description": asked.rsplit("Current:\n", 1)[1].split("\n\nUpdated:")[0][:_SUMMARY]}
    elif "Query: " in asked:
        question = asked.rsplit("Query: ", 1)[1].splitlines()[0]
        answer = {"named": script.names_in(question), "generic": [question]}
    else:
        given = script.passage(asked)
        entities = given.described() if given else ()
        answer = {
            "entities": [{"name": name, "type": "concept", "desc": said} for name, said in entities],
            "relationships": [
                {"source": each["source"], "target": each["target"], "desc": each["description"]}
                for each in _relations(given)
            ],
            "other_relationships": [],
        }
    return json.dumps(answer, ensure_ascii=False)


def lightrag(script: Script, messages: Messages) -> str:
    """Rows of entities and relations, keywords of a question, or a summary of descriptions."""
    asked = messages[-1]["content"]
    if "User Query: " in asked:
        question = asked.rsplit("User Query: ", 1)[1].splitlines()[0]
        keywords = {"high_level_keywords": [question], "low_level_keywords": script.names_in(question)}
        return json.dumps(keywords, ensure_ascii=False)
    if "Description List:" in asked:
        rows = re.findall(r'^\{"Description": .*\}$', asked, re.MULTILINE)
        return " ".join(str(json.loads(row)["Description"]) for row in rows)[:_SUMMARY]
    rows, given = list[str](), script.passage(asked)  # the request to go on holds no passage: nothing was missed
    if given is not None:
        rows = [f"entity<|#|>{name}<|#|>Other<|#|>{said}" for name, said in given.described()]
        rows += [f"relation<|#|>{h}<|#|>{t}<|#|>{r}<|#|>{h} {r} {t}." for h, r, t in given.triples]
    return "\n".join([*rows, "<|COMPLETE|>"])


def _tuples(script: Script, messages: Messages) -> str:
    given = script.passage(messages[-1]["content"])
    if given is None:
        return "<|COMPLETE|>"
    rows = [f'("entity"<|>"{name}"<|>"concept"<|>"{said}")' for name, said in given.described()]
    rows += [f'("relationship"<|>"{h}"<|>"{t}"<|>"{h} {r} {t}."<|>5)' for h, r, t in given.triples]
    return "##\n".join(rows) + "<|COMPLETE|>"


def nano_graphrag(script: Script, messages: Messages) -> str:
    """Tuples of entities and relationships, a report on a community, or a summary of descriptions."""
    asked = messages[-1]["content"]
    if "-----Reports-----" in asked or '"findings"' in asked:
        names = re.findall(r'^\d+,"?([^",]+)', asked, re.MULTILINE)[:5]
        said = {"summary": names[0] if names else "", "explanation": ", ".join(names)}
        report = {"title": ", ".join(names), "summary": ", ".join(names), "rating": 5, "rating_explanation": "Given."}
        return json.dumps(report | {"findings": [said]}, ensure_ascii=False)
    if "Description List:" in asked:
        return asked.split("Description List:", 1)[1].split("#######")[0].strip()[:_SUMMARY]
    return _tuples(script, messages)


def hipporag(script: Script, messages: Messages) -> str:
    """Named entities, triples, or all facts of a question as they are: nothing is filtered out."""
    asked = messages[-1]["content"]
    if "[[ ## fact_before_filter ## ]]" in asked:
        facts = asked.split("[[ ## fact_before_filter ## ]]\n", 1)[1].split("\n\n")[0]
        return f"[[ ## fact_after_filter ## ]]\n{facts}\n\n[[ ## completed ## ]]"
    given = script.passage(asked)
    if '"named_entities"' in asked:
        plain = [[re.sub(r"[\[\]{}]", "", part) for part in triple] for triple in given.triples] if given else []
        return json.dumps({"triples": plain}, ensure_ascii=False)
    names = [re.sub(r"[\[\]{}]", "", name) for name in given.names] if given else script.names_in(asked)
    return json.dumps({"named_entities": names}, ensure_ascii=False)


def llamaindex(script: Script, messages: Messages) -> str:
    """Triples in lines, without commas and brackets, or the names of a question."""
    asked = messages[-1]["content"]
    if "QUERY: " in asked:
        return "^".join(script.names_in(asked.rsplit("QUERY: ", 1)[1].splitlines()[0]))
    given = script.passage(asked)
    plain = [[re.sub(r"[(),]", " ", part) for part in triple] for triple in (given.triples if given else ())]
    return "\n".join(f"({', '.join(triple)})" for triple in plain)


REPLIES: dict[str, Reply] = {
    reply.__name__.replace("_", "-"): reply
    for reply in (graphwright, lightrag, nano_graphrag, fast_graphrag, hipporag, llamaindex)
}


# The server


@dataclass
class Counts:
    """What was asked for: calls of the language model with their tokens, and texts that were encoded.

    `busy`: seconds in which at least one request was being answered.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    requests_of_vectors: int = 0
    texts: int = 0
    busy: float = 0.0


@dataclass
class ScriptedModels:
    """A server on a free port, open while the block runs."""

    script: Script
    encoder: Encoder
    _counts: Counts = field(default_factory=Counts)
    _active: int = 0
    _since: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _encoding: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"models": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The address that clients are given."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def counts(self) -> Counts:
        """Return what was asked for so far."""
        with self._lock:
            return replace(self._counts)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count the time of a request."""
        with self._lock:
            if not self._active:
                self._since = time.perf_counter()
            self._active += 1
        try:
            yield
        finally:
            with self._lock:
                self._active -= 1
                if not self._active:
                    self._counts.busy += time.perf_counter() - self._since

    def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a chat completion. Raises KeyError for a model that is none of REPLIES."""
        messages = [{"content": _text(message["content"])} for message in body["messages"]]
        text = REPLIES[body["model"]](self.script, messages)
        prompt = sum(estimated_tokens(message["content"]) for message in messages)
        completion = estimated_tokens(text)
        with self._lock:
            self._counts.calls += 1
            self._counts.prompt_tokens += prompt
            self._counts.completion_tokens += completion
        return {
            "id": "scripted",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"},
            ],
            "usage": _usage(prompt, completion),
        }

    def embed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a request of vectors."""
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        with self._encoding:
            rows = self.encoder.encode(texts)
        with self._lock:
            self._counts.requests_of_vectors += 1
            self._counts.texts += len(texts)
        packed = body.get("encoding_format") == "base64"
        vectors = [base64.b64encode(row.tobytes()).decode() if packed else row.tolist() for row in rows]
        data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
        return {"object": "list", "model": body["model"], "data": data, "usage": _usage(0, 0)}


def _text(content: Any) -> str:
    """Return the text of a message, which may be in parts."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _usage(prompt: int, completion: int) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # some systems connect hundreds of times at once

    def handle_error(self, *_: object) -> None:
        """Print nothing of clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    models: ScriptedModels
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.models.answering():
            try:
                answer = self.models.embed(body) if self.path.endswith("/embeddings") else self.models.complete(body)
                status = 200
            except KeyError as error:
                status, answer = 400, {"error": {"message": f"The request has no {error} that is known here."}}
            content = json.dumps(answer).encode()
        self._send(status, content)

    def do_GET(self) -> None:
        self._send(200, json.dumps(asdict(self.models.counts())).encode())

    def _send(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing."""
