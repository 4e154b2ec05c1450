"""Listings: the methods in groups, the facts of an index, and the results of a query."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.text import Text

from graphwright import data, operators, search
from graphwright.cli.options import open_index
from graphwright.cli.terminal import console, note, plain_table, print_json, say, shortened
from graphwright.errors import GraphwrightError, counted
from graphwright.index_folder.index import Index
from graphwright.methods.registry import GROUPS, METHODS, NamedMethod, make_method, method_named

_EXTRAS = {name: ("communities", "igraph") for name in ("graphrag-local", "graphrag-global", "grag-m")}
_SLOW: Mapping[str, str] = {
    **dict.fromkeys(
        ("rerank", "multihop-rerank", "gar", "fastinsight", "fastinsight-entities", "rog"), "about a second"
    ),
    **dict.fromkeys(("clue-rag", *(f"lego-{number}" for number in (4, 5, 8, 9, 11, 13, 15))), "many seconds"),
}
"""Methods that are slower than some tenths of a second for a question, offline, over thousands of passages."""
_MAX_LISTED = 20


def show_methods(name: str | None, index: Path | None, *, as_json: bool) -> None:
    """Print the methods in groups, or the method `name` with its options; with `index` also their expressions."""
    snapshot = None if index is None else Index.open(index).snapshot
    groups = GROUPS if name is None else {"": (name,)}
    rows = {title: [_facts_of(method_named(name), snapshot) for name in names] for title, names in groups.items()}
    if as_json:
        print_json([row for group in rows.values() for row in group])
    elif name is not None:
        _show_method(rows[""][0])
    else:
        _show_groups(rows)


def _facts_of(method: NamedMethod, snapshot: search.Snapshot | None) -> dict[str, Any]:
    """Return the facts about a method for JSON. `problem`: the reason why it cannot be used here, if any."""
    extra, module = _EXTRAS.get(method.name, ("", ""))
    expression, problem = "", ""
    if module and find_spec(module) is None:
        problem = f"not installed: pip install 'graphwright[{extra}]'"
    elif snapshot is not None and not method.required:  # else it has no expression without a language model
        try:
            expression = repr(make_method(method.name, snapshot).pipeline)
        except GraphwrightError as error:
            problem = str(error)
    return {
        "name": method.name,
        "about": method.about,
        "options": {
            name: {
                "default": str(getattr(value, "__name__", repr(value))),
                "required": name in method.required,
                "about": method.help[name],
            }
            for name, value in method.options.items()
        },
        "expression": expression,
        "slow": _SLOW.get(method.name, ""),
        "needs": "an LLM" if method.required else f"extra {extra}" if extra else "",
        "problem": problem,
    }


def _show_groups(rows: Mapping[str, list[dict[str, Any]]]) -> None:
    output = console()
    width = max(len(name) for name in METHODS) + 2
    room = output.width if output.is_terminal else 200
    for title, group in rows.items():
        output.print(Text(title, "bold underline"))
        for row in group:
            line = Text(row["name"].ljust(width))
            remarks = (row["problem"] or (f"needs {row['needs']}" if row["needs"] else ""), row["slow"])
            needs = f"  ({', '.join(filter(None, remarks))})" if any(remarks) else ""
            line.append(shortened(row["about"].rstrip("."), max(room - len(line) - len(needs), 20)))
            output.print(line.append(needs, "yellow" if row["problem"] else "dim"), soft_wrap=True)
            if row["expression"]:
                output.print(Text(" " * width + row["expression"], "green"), soft_wrap=True)
        output.print()
    say("'graphwright methods NAME' shows the arguments of a method. A time is that of a question, without an LLM.")


def _show_method(row: Mapping[str, Any]) -> None:
    output, needs = console(), row["problem"] or row["needs"]
    output.print(Text(row["name"], "bold"), soft_wrap=True)
    facts = {"does": row["about"], "takes": row["slow"], "needs": needs, "expression": row["expression"]}
    for name, fact in facts.items():
        if fact:
            output.print(Text(f"{name:<12}", "dim").append(fact), soft_wrap=not output.is_terminal)
    texts = {
        name: f"{name} (required)" if option["required"] else f"{name}={option['default']}"
        for name, option in row["options"].items()
    }
    width = max(map(len, texts.values()), default=0)
    for name, text in texts.items():
        say(f"{text:<{width}}  {row['options'][name]['about']}".rstrip())


def show_info(folder: Path, *, as_json: bool) -> None:
    """Print the contents, settings and size of an index."""
    with open_index(folder) as opened:
        facts = opened.info()
    if as_json:
        print_json(facts)
        return
    for name, fact in _facts(facts).items():
        if fact:
            say(f"{name:<16}{fact}")


def _database(imported: Mapping[str, Any]) -> str:
    """Return the address and the name of the database that a graph was imported from, "" for a file."""
    database = imported.get("database", {})
    return " ".join(filter(None, (database.get("address"), database.get("name"))))


def _facts(facts: Mapping[str, Any]) -> dict[str, str]:
    imported = facts.get("imported")
    has_documents = not imported or facts["documents"] > 0
    settings, relations = facts["settings"], f", {counted(imported['relations'], 'relation')}" if imported else ""
    pending = [f"{counted(count, 'chunk')}: {reason}" for reason, count in facts["pending"].items()]
    command = f"graphwright reextract --index {shlex.quote(str(facts['path']))}"
    waiting = (
        ""
        if not pending
        else (
            f"by the rules; a model is pending for {_listed(pending)}\n"
            f"{'':<16}to go on: {command} --llm MODEL [--base-url URL]\n"
            f"{'':<16}to stay with the rules: {command} --offline"
        )
    )
    texts = [f"{count:,} {kind}" for kind, count in facts["embedded"].items()]
    return {
        "index": facts["path"],
        "imported from": facts["source"]["system"] if "source" in facts else _database(imported or {}),
        "documents": f"{facts['documents']:,}, in {counted(facts['chunks'], 'chunk')}" if has_documents else "",
        "graph": f"{counted(facts['nodes'], 'node')}, {counted(facts['edges'], 'edge')}{relations}",
        "size": decimal(facts["bytes"]),
        "vectors": f"{', '.join(texts)}, by {facts['encoder'].partition(':')[0]}" if texts else "none",
        "extracted by": _listed([f"{name} ({count:,} chunks)" for name, count in facts["extractors"].items()]),
        "chunks": ""
        if not has_documents
        else f"at most {settings['chunk_tokens']} tokens, {settings['overlap']} shared",
        "own prompts": ", ".join(facts["prompts"]),
        "schema": _schema(facts["schema"]),
        "merged names": ", ".join(settings["resolve"]),
        "ranking": f"refit on feedback (gate {facts['gate']:+g})" if facts["gate"] else "",
        "synced from": _listed(list(facts["folders"])),
        "edits": counted(facts["edits"], "edit") + " by hand" if facts["edits"] else "",
        "pending": waiting,
        "missing": f"{facts['missing_values']:,} values of the language model" if facts["missing_values"] else "",
        "state": "" if facts["current"] else "the newest documents cannot be searched yet; index again to finish",
    }


def _schema(schema: Mapping[str, Any]) -> str:
    """Return the types of a schema, "" if it has none."""
    parts = [f"{name}: {', '.join(schema[name])}" for name in ("entities", "relations") if schema[name]]
    return _listed(parts + ["strict"] * (schema["strict"] and bool(parts)))


def _listed(items: list[str]) -> str:
    more = f"\n{'':<16}and {len(items) - _MAX_LISTED} more" if len(items) > _MAX_LISTED else ""
    return f"\n{'':<16}".join(items[:_MAX_LISTED]) + more


_ROWS, _COLUMNS, _WIDTH, _HEADING = 20, 8, 60, 12  # of a table on a terminal; characters of a source, of a heading


def show_query(folder: Path, text: str, filter: search.Filter | None, *, as_json: bool) -> None:
    """Run a query and print its result: on a terminal a table and its sources, elsewhere a value or a row a line."""
    with open_index(folder) as index:
        result = index.query(text, filter=filter)
        if as_json:
            print_json(result.to_dict())
            return
        for line in result.notes:
            note(f"note: {line}")
        output = console()
        if output.is_terminal:
            output.print(Text(result.words, "dim"), soft_wrap=True)
        if result.is_set:
            _show_things(result, output)
        else:
            output.print(Text(_value(result), "bold"), soft_wrap=True)
        if output.is_terminal:
            _show_support(result, output)


def show_cypher(folder: Path, cypher: str, *, as_json: bool) -> None:
    """Run a query in Cypher in the graph database that an index was imported from, and print the rows."""
    with open_index(folder) as index:
        _show_database_rows(index.query_database(cypher), as_json=as_json)


def show_sparql(endpoint: str, sparql: str, *, as_json: bool) -> None:
    """Ask a query in SPARQL of an endpoint, and print the rows."""

    _show_database_rows(data.SparqlEndpoint(endpoint).query(sparql), as_json=as_json)


def _show_database_rows(result: data.DatabaseRows, *, as_json: bool) -> None:
    if as_json:
        print_json(result.to_dict())
        return
    cells = ([v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in row] for row in result.rows)
    rows = [dict(zip(result.columns, row, strict=True)) for row in cells]
    shown = _show_rows(list(result.columns), rows, console(), header=True)
    if result.more or shown < len(rows):
        note(f"note: the first {counted(shown, 'row')} of {'more than ' * result.more}{len(rows):,} are shown.")


def show_schema(folder: Path, *, as_json: bool) -> None:
    """Print the types and relations that a query may name, as a query names them."""
    from graphwright.operators.query.query import OfType

    with open_index(folder) as index:
        listed = index.schema()
    if as_json:
        print_json(listed)
        return

    def name_text(name: str) -> str:
        return operators.notation(OfType(name))  # relations are written as types are

    for item in listed["types"]:
        relations = f": {', '.join(map(name_text, item['relations']))}" if item["relations"] else ""
        say(f"{name_text(item['name'])} ({item['count']:,}){relations}")
    for item in listed["relations"]:
        say(f".{name_text(item['name'])} ({item['count']:,}): {shortened(item['example'], _WIDTH)}")


def _value(result: operators.QueryResult) -> str:
    """Return a number with its unit, yes or no, or that there is none."""
    if isinstance(result.value, bool):
        return "yes" if result.value else "no"
    if result.value is None:
        return "There is no such value."
    number = f"{result.value:,}" if isinstance(result.value, int) else str(result.value)
    return f"{number} {result.unit}".rstrip()


def _show_things(result: operators.QueryResult, output: Console) -> None:
    """Print the things of a set, of records their fields in columns; elsewhere with tabs between them."""
    is_table = len(result.rows) == len(result.names)
    dates = result.dates if output.is_terminal and result.dates else [""] * len(result.names)
    dated = ([("", name), *([("dates", date)] if date else [])] for name, date in zip(result.names, dates, strict=True))
    rows = result.rows if is_table else list(map(dict, dated))
    columns = list(dict.fromkeys(name for row in rows for name in row))
    shown = _show_rows(columns, rows, output, header=is_table)
    if len(result.things) > shown:
        note(f"note: {shown:,} of {counted(len(result.things), 'thing')} are shown.")


def _show_rows(columns: list[str], rows: Sequence[Mapping[str, str]], output: Console, *, header: bool) -> int:
    """Print rows: on a terminal the first ones as a table, elsewhere with tabs. Return how many were printed."""
    if not rows:
        note("Nothing was found.")
    elif output.is_terminal:
        rows, columns = rows[:_ROWS], columns[:_COLUMNS]
        table = plain_table()
        table.show_header = header
        for name in columns:
            table.add_column(Text(_heading(name)))
        for row in rows:
            table.add_row(*(Text(shortened(row.get(name, ""), _WIDTH)) for name in columns))
        output.print(table)
    else:
        for cells in [columns] * header + [[row.get(name, "") for name in columns] for row in rows]:
            say("\t".join(" ".join(cell.split()) for cell in cells))
    return len(rows)


def _heading(name: str) -> str:
    """Return the name of a column, a long path in two lines."""
    around, dot, last = name.rpartition(".")
    return f"{around}{dot}\n{last}" if dot and len(name) > _HEADING else name


def _show_support(result: operators.QueryResult, output: Console) -> None:
    if result.citations:
        output.print(Text(f"Sources: {len(result.citations)} of {result.support_count:,}", "dim"))
    for cited in result.citations:
        place = cited.document or " — ".join(cited.path)
        where = f"  {cited.location}," if cited.location else ""
        where += f" characters {cited.start}-{cited.end}" if cited.document else ""
        output.print(Text(place, "cyan").append(where, "dim"), soft_wrap=True)
        if cited.document:
            output.print(Text(f"    “{shortened(cited.text, 3 * _WIDTH)}”", "italic"), soft_wrap=True)
