"""The tables of the server under load."""

from __future__ import annotations

from harness import Record, table


def page(results: Record) -> str:
    """Return the figures as tables, each beside the one that is aimed at."""
    parts = [_HEAD.format(cores=next((of["cores"] for of in results.values()), "?"))]
    for part, (text, rows) in _TABLES.items():
        if part in results:
            shown = [(name, aim, _value(results[part], path)) for name, aim, path in rows]
            parts.append(f"## {part.capitalize()}\n\n{text}\n\n{table(('', 'aim', 'measured'), shown)}")
    return "\n".join(parts)


def _value(results: Record, path: str) -> object:
    for name in path.split("/"):
        results = results[name]
    return results


_HEAD = """# The server under load

`python benchmarks/serve.py --data DIR`, {cores} cores, which the server and its clients share.
"""
_TABLES: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "overhead": (
        "The same questions to the library and to the server in turn: medians in ms.",
        [
            ("`bm25`, library", "", "bm25/library/p50 ms"),
            ("`bm25`, server", "", "bm25/server/p50 ms"),
            ("`bm25`, difference", "under 3", "bm25/difference p50 ms"),
            ("default method, library", "", "default/library/p50 ms"),
            ("default method, server", "", "default/server/p50 ms"),
            ("default method, difference", "under 3", "default/difference p50 ms"),
        ],
    ),
    "load": (
        "Clients that ask without a pause, all questions different.",
        [
            (f"{name}: {row}", aim, f"{key}/{path}")
            for name, key, rate in (("`bm25`", "bm25", "200"), ("default method", "default", "100"))
            for row, aim, path in (
                ("requests a second", rate, "requests a second"),
                ("p50 ms", "", "p50 ms"),
                ("p99 ms", "under 800", "p99 ms"),
                ("processor seconds of the server", "", "server's processor seconds"),
                ("processor seconds of the clients", "", "clients' processor seconds"),
                ("seconds", "", "seconds"),
            )
        ],
    ),
    "processes": (
        "The load on a server that answers by its own process, and on one with a process for each core, in turn.",
        [
            *(
                (f"{name}: {row}", aim, f"{key}/{path}")
                for name, key in (("`bm25`", "bm25"), ("default method", "default"))
                for row, aim, path in (
                    ("requests a second, one process", "", "one/requests a second"),
                    ("requests a second, several", "", "many/requests a second"),
                    ("ratio", "1.6", "ratio"),
                    ("processor ms of a request, one process", "", "one/processor ms of a request"),
                    ("processor ms of a request, several", "", "many/processor ms of a request"),
                )
            ),
            ("private MB of the server, one process", "", "private MB, one/server"),
            ("private MB of the server, several", "", "private MB, many/server"),
            ("private MB of each other process", "", "private MB, many/others"),
        ],
    ),
    "events": (
        "From the end of the search, by the server's own clock, to the arrival of the event `evidence`, in ms.",
        [(level, aim, f"evidence after the search/{level} ms") for level, aim in (("p50", ""), ("p95", "under 50"))],
    ),
    "idle": (
        "Streams that wait for a language model which never replies.",
        [
            ("clients", "1,000", "clients"),
            ("MB before", "", "MB before"),
            ("MB with them", "", "MB with them"),
            ("`retrieve` alone, p50 ms", "", "retrieve alone/p50 ms"),
            ("`retrieve` beside them, p50 ms", "", "retrieve beside them/p50 ms"),
        ],
    ),
    "memory": (
        "Resident memory.",
        [
            ("requests", "100,000", "requests"),
            ("MB at half of them", "", "MB at half"),
            ("MB at the end", "the same", "MB at the end"),
        ],
    ),
}
