"""Measure the server on loopback: its overhead, requests a second, the delay of events, idle clients, memory.

    python benchmarks/serve.py --data DIR [--only overhead load processes events idle memory] [--passages 5000]

The server is a process of its own over the first passages of HotpotQA; no question is asked twice. Writes `serve.json`,
`serve.md`. With the index at hand all of it takes about eleven minutes on two cores.

- overhead: each question to the library and to the server in turn: the medians of both, and of the difference.
- load: 32 clients that ask without a pause, by the default method and by `bm25`: requests a second, latency, and the
  processor time of the clients, which share the machine with the server.
- processes: the same load on a server whose questions its own process answers, and on one with a process for each
  core, in turn: requests a second, their ratio, processor time of a request, and memory that no processes share.
- events: the time between the end of the search, by the server's own clock, and the arrival of `evidence`.
- idle: 1,000 clients that wait for a language model which never replies: memory, and the latency of a client beside
  them.
- memory: resident memory of the server over many requests, every twentieth by the default method and the others by
  `bm25`, and the growth in the second half of them. It stops after `--minutes`, with the requests that were reached.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import resource
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import median

import numpy as np
from harness import Record, arguments, elapsed, parse, percentiles, update_results
from serving.page import page
from serving.server_process import Client, Served, connected, serving

from graphwright.data.documents import read_documents
from graphwright.data.question_sets.questions import read_questions
from graphwright.index_folder.index import Index

WARM_UP = 30  # requests before the first that is measured
METHODS = (None, "bm25")


def questions_of(options: Namespace) -> Iterator[str]:
    """Yield endless different questions: those of the set, then each with the title of another passage."""
    folder = options.data / "multihop" / "hotpotqa"
    texts = [question.text for question in read_questions(folder / "questions.jsonl")]
    yield from texts
    titles = [document.title for document in read_documents([folder / "corpus.jsonl"], print)]
    for title in titles:
        for text in texts:
            yield f"{text} ({title})"


def index_of(options: Namespace) -> Path:
    """Return the index of the first passages; it is built where missing."""
    folder: Path = options.work / "indexes" / f"serve-{options.passages}"
    if not (folder / "CURRENT").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        corpus = options.data / "multihop" / "hotpotqa" / "corpus.jsonl"
        with Index(folder) as index:
            index.add(list(islice(read_documents([corpus], print), options.passages)))
    return folder


async def retrieve(client: Client, question: str, method: str | None = None) -> float:
    """Retrieve passages; return the seconds."""
    begun = time.perf_counter()
    status, reply = await client.ask("POST", "/v1/indexes/wiki/retrieve", {"question": question, "method": method})
    if status != 200:
        raise RuntimeError(f"{status}: {reply[:500]!r}")
    return time.perf_counter() - begun


def overhead(options: Namespace) -> Record:
    """Ask the library and the server in turn."""
    folder = index_of(options)
    questions = questions_of(options)

    async def measure(served: Served, index: Index, method: str | None) -> Record:
        own, over = [], []
        async with connected(served) as client:
            for at, question in enumerate(islice(questions, WARM_UP + options.questions)):
                _, seconds = elapsed(lambda q=question: index.retrieve(q, method).to_dict())  # type: ignore[misc]
                served_seconds = await retrieve(client, question, method)
                if at >= WARM_UP:
                    own.append(seconds)
                    over.append(served_seconds)
        difference = 1e3 * median(np.subtract(over, own).tolist())
        return {"library": percentiles(own), "server": percentiles(over), "difference p50 ms": round(difference, 2)}

    with serving(folder) as served, Index.open(folder) as index:
        return {method or "default": asyncio.run(measure(served, index, method)) for method in METHODS}


async def ask_by_many(
    served: Served, questions: Iterator[str], method: str | None, clients: int, seconds: float
) -> list[float]:
    """Ask by many clients without a pause; return the seconds of each request."""
    taken: list[float] = []
    end = time.perf_counter() + seconds

    async def ask() -> None:
        async with connected(served) as client:
            while time.perf_counter() < end:
                taken.append(await retrieve(client, next(questions), method))

    await asyncio.gather(*(ask() for _ in range(clients)))
    return taken


def load(options: Namespace) -> Record:
    """Ask by many clients without a pause."""
    folder = index_of(options)
    questions = questions_of(options)

    async def measure(served: Served, method: str | None) -> Record:
        await ask_by_many(served, questions, method, options.clients, 3)
        own, its, begun = time.process_time(), served.seconds(), time.perf_counter()
        seconds = await ask_by_many(served, questions, method, options.clients, options.seconds)
        wall = time.perf_counter() - begun
        return {
            "requests": len(seconds),
            "requests a second": round(len(seconds) / wall, 1),
            **percentiles(seconds, 50, 95, 99),
            "clients' processor seconds": round(time.process_time() - own, 1),
            "server's processor seconds": round(served.seconds() - its, 1),
            "seconds": round(wall, 1),
        }

    results: Record = {"clients": options.clients}
    with serving(folder) as served:
        for method in METHODS:
            results[method or "default"] = asyncio.run(measure(served, method))
    return results


def processes(options: Namespace) -> Record:
    """Ask a server of one process, and one with a process for each core, in turn."""
    folder, number = index_of(options), max(2, os.cpu_count() or 2)
    questions = dict(zip(("one", "many"), itertools.tee(questions_of(options)), strict=True))  # the same to both

    async def measure(name: str, served: Served, method: str | None) -> tuple[float, float]:
        its, begun = served.seconds(), time.perf_counter()
        taken = await ask_by_many(served, questions[name], method, options.clients, options.seconds / options.rounds)
        wall = time.perf_counter() - begun
        return len(taken) / wall, 1e3 * (served.seconds() - its) / len(taken)

    results: Record = {"clients": options.clients, "processes": number}
    with serving(folder) as one, serving(folder, processes=number) as many:
        servers = {"one": one, "many": many}
        for method in METHODS:
            rows: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
            for _ in range(1 + options.rounds):
                for name, served in servers.items():
                    rows[name].append(asyncio.run(measure(name, served, method)))
            figures: Record = {}
            for name, measured in rows.items():
                rate, cost = np.median(measured[1:], axis=0)  # the first round warms up
                figures[name] = {"requests a second": round(rate, 1), "processor ms of a request": round(cost, 1)}
            ratios = [many[0] / one[0] for one, many in zip(rows["one"][1:], rows["many"][1:], strict=True)]
            results[method or "default"] = figures | {"ratio": round(median(ratios), 2)}
        for name, served in servers.items():
            own, *others = served.private_memory()
            results[f"private MB, {name}"] = {"server": round(own), "others": round(max(others, default=0))}
    return results


def events(options: Namespace) -> Record:
    """Measure when the evidence of a streamed answer arrives."""
    folder = index_of(options)

    async def delay(served: Served, question: str) -> float:
        async with connected(served) as client:
            begun = time.perf_counter()
            await client.send("POST", "/v1/indexes/wiki/ask", {"question": question, "stream": True})
            searched = arrived = 0.0
            while line := (await client.reader.readline()).decode():
                if line.startswith("event: evidence"):
                    arrived = time.perf_counter() - begun - searched
                elif line.startswith('data: {"operator"') and not arrived:
                    searched += json.loads(line[6:])["seconds"]
                elif line.startswith("event: done"):  # the next question would wait for the rest of this answer
                    return arrived
        raise SystemExit(f"The stream of {question!r} ended without an answer.")

    async def measure(served: Served, questions: Sequence[str]) -> Record:
        delays = [await delay(served, question) for question in questions]
        return {"evidence after the search": percentiles(delays[WARM_UP:], 50, 95, 99)}

    with serving(folder) as served:
        return asyncio.run(measure(served, list(islice(questions_of(options), WARM_UP + options.questions))))


def idle(options: Namespace) -> Record:
    """Keep many streams open that wait for a language model."""
    folder = index_of(options)
    _raise_descriptor_limit()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            pass
        writer.close()

    async def measure(served: Served) -> Record:
        questions = questions_of(options)
        before = served.memory()
        async with connected(served) as client:
            alone = [await retrieve(client, question) for question in islice(questions, options.questions)]
        streams = [await asyncio.open_connection(served.host, served.port) for _ in range(options.idle)]
        waiting = [Client(*stream) for stream in streams]
        body = {"question": next(questions), "stream": True}
        statuses = await asyncio.gather(*(each.send("POST", "/v1/indexes/wiki/ask", body) for each in waiting))
        async with connected(served) as client:
            beside = [await retrieve(client, question) for question in islice(questions, options.questions)]
        memory = served.memory()
        for each in waiting:
            each.writer.close()
        return {
            "clients": sum(status == 200 for status, _ in statuses),
            "retrieve alone": percentiles(alone),
            "retrieve beside them": percentiles(beside),
            "MB before": round(before),
            "MB with them": round(memory),
        }

    async def run() -> Record:
        llm = await asyncio.start_server(silent, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{llm.sockets[0].getsockname()[1]}/v1"
        settings = {"queue": 2 * options.idle, "timeout": 3600, "deadline": 3600}
        model = {"model": "silent", "base_url": address, "timeout": 3600}

        def whole() -> Record:
            with serving(folder, **settings, llm=model) as served:
                return asyncio.run(measure(served))

        async with llm:
            return await asyncio.to_thread(whole)

    return asyncio.run(run())


def memory(options: Namespace) -> Record:
    """Follow the memory of the server over many requests."""
    folder = index_of(options)
    questions = questions_of(options)
    numbers = itertools.count(1)
    curve: list[tuple[int, float]] = []
    end = time.monotonic() + 60 * options.minutes

    async def ask(served: Served) -> None:
        async with connected(served) as client:
            while (number := next(numbers)) <= options.requests and time.monotonic() < end:
                await retrieve(client, next(questions), "bm25" if number % 20 else None)
                if number % max(options.requests // 200, 1) == 0:
                    curve.append((number, served.memory()))

    async def everyone(served: Served) -> None:
        await asyncio.gather(*(ask(served) for _ in range(options.clients)))

    with serving(folder) as served:
        asyncio.run(everyone(served))
    curve.sort()
    reached = curve[-1][0]
    half = [size for number, size in curve if number >= reached / 2]
    return {"requests": reached, "MB at half": round(half[0]), "MB at the end": round(half[-1])}


def _raise_descriptor_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


PARTS = {"overhead": overhead, "load": load, "processes": processes, "events": events, "idle": idle, "memory": memory}


def main() -> None:
    """Measure the parts asked for."""
    parser = arguments(__doc__, parts=list(PARTS))
    parser.add_argument("--passages", type=int, default=5_000)
    parser.add_argument("--questions", type=int, default=200, help="of overhead, events and idle")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=30, help="of load and processes")
    parser.add_argument("--rounds", type=int, default=5, help="of processes, into which the seconds are divided")
    parser.add_argument("--idle", type=int, default=1_000, help="idle clients")
    parser.add_argument("--requests", type=int, default=100_000, help="of memory")
    parser.add_argument("--minutes", type=float, default=8, help="of memory, at most")
    options = parse(parser)
    for part in options.only:
        results = PARTS[part](options)
        print(part, json.dumps(results))
        update_results(options.out / "serve.json", [part], results | {"cores": os.cpu_count()}, page)


if __name__ == "__main__":
    main()
