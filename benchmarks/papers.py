"""Print the tables and figures of the five papers: their rows, columns and published numbers, with ours beside them.

    python benchmarks/papers.py --paper bubblerag --data DIR [--table 2] [--questions 100]
    python benchmarks/papers.py --paper bubblerag --data DIR --trace
    python benchmarks/papers.py --paper lego --data DIR --llm MODEL --base-url URL --questions 5 [--context-tokens 500]

Without --llm every step of a language model is done by its offline twin. Tables that other benchmarks measure are read
from their results (`lego.json`, `reg.json`, ...); where these are missing, the command that makes them is printed. All
other tables are asked here, by the testbed; an interrupted call continues. With --llm the tables that need answers are
asked of that model, and it judges them too; the rows of each model stand beside the others, under its name. With --rows
only these rows are asked, and added to the others of the same questions.

With --trace no table is made: a scripted model that knows the gold passages makes every choice, and each question with
a loss is printed, with what each step of the paper's methods reaches (see `oracle.py`).

The published numbers are those of the papers' texts, in `published/`. The data at hand are other ones than the papers'
(no Freebase, ACL-OCL or UltraDomain), so numbers of a row cannot be compared across: each shows whether the order of
its own methods is the same. Times are by the clock. Writes `papers-NAME.json` and `papers-NAME.md`.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import oracle
from harness import Record, arguments, parse, read_results, update_results
from published.asked import ASKED, Settings
from published.from_results import read_table, states_behind
from published.tables import PAPERS, NotMeasured, Ours, Published, published, section, title
from stamps import made_by, states_of, together

from graphwright.models import OpenAILLM

OFFLINE = "offline"
QUESTIONS = {"lego": 200}
"""Questions of each set by default, where they are not 100."""
COMMAND = "python benchmarks/papers.py --paper {} --data DIR"
NOT_ASKED = "not measured yet; a run without --llm has its offline row, or the reason why there is none."


def main() -> None:
    """Measure and print the tables asked for."""
    parser = arguments(__doc__)
    parser.add_argument("--paper", choices=PAPERS, required=True)
    parser.add_argument("--table", nargs="+", metavar="N", help="numbers of tables, or names such as 'Figure 4'")
    parser.add_argument("--rows", nargs="+", default=[], metavar="ROW", help="names of methods, as in the first column")
    parser.add_argument("--questions", type=int, help="of each set, by default 100, for LEGO-GraphRAG 200")
    parser.add_argument("--llm", help="the model's name on the server")
    parser.add_argument("--base-url", help="address of the server, up to and with /v1")
    parser.add_argument("--max-tokens", type=int, default=2048, help="of a reply")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds of a reply")
    parser.add_argument("--context-tokens", type=int, help="of evidence, for a model with a small context")
    parser.add_argument("--untimed", action="store_true", help="leave out seconds, where other work is on the machine")
    parser.add_argument("--about", default="", help="a sentence on the model, for the page")
    parser.add_argument(
        "--trace", action="store_true", help="print where a method loses gold passages though every choice is right"
    )
    options = parse(parser)
    if options.trace:
        trace(options)
        return
    settings = settings_of(options)
    tables = published(options.paper)
    path = options.out / f"papers-{options.paper}.json"
    for name in chosen(list(tables), options.table):
        results: Record = read_results(path)
        label = f"{options.paper} {name}"
        measured = measure(options.paper, tables[name], replace(settings, label=label), options.out)
        if measured is not None:
            model, record = measured
            before, states = results.get(name, {}).get(model, {}), made_by()
            content: Record = {"missing": record}
            if isinstance(record, Ours):
                content = {"about": f"{options.about} {record.about}".strip(), "rows": record.rows}
                if tables[name].ours and model == OFFLINE:
                    states = states_behind(tables[name], options.out)
                elif options.rows:
                    content, states = joined(name, before, content), together([states_of(path, name, model), states])
            if isinstance(record, Ours) or "rows" not in before:
                write = partial(page, options.paper, tables)
                results = update_results(path, [name, model], content, write, states=states)
        print(section(tables[name], results.get(name, {OFFLINE: {"missing": NOT_ASKED}})), flush=True)


def trace(options: Namespace) -> None:
    """Print the questions in which the methods of a paper lose gold passages, step by step (see `oracle.py`)."""
    for label in oracle.SETS:
        oracle.measure(options, label, oracle.OF_PAPERS[options.paper], options.questions, trace=True)


def settings_of(options: Namespace) -> Settings:
    """Return the settings of a run."""
    llm = None
    if options.llm is not None:
        llm = OpenAILLM(options.llm, options.base_url, timeout=options.timeout, max_tokens=options.max_tokens)
    rows, questions = tuple(options.rows), options.questions or QUESTIONS.get(options.paper, 100)
    return Settings(
        options.data, options.work, questions, llm, options.context_tokens, rows=rows, timed=not options.untimed
    )


def joined(table: str, before: Record, added: Record) -> Record:
    """Return a table with rows added or replaced. Raises SystemExit if its other rows are of other questions."""
    if before.get("about", added["about"]) != added["about"]:
        raise SystemExit(f"{table} has rows of other questions; ask all its rows. They are: {before['about']}")
    return added | {"rows": before.get("rows", {}) | added["rows"]}


def chosen(names: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """Return the tables and figures that are wanted: a number alone is that of a table.

    Raises SystemExit for one that the paper does not have, or has without numbers that could be measured.
    """
    if wanted is None:
        return list(names)
    full = [name if not name.isdigit() else f"Table {name}" for name in wanted]
    unknown = [name for name in full if name not in names]
    if unknown:
        raise SystemExit(f"{unknown[0]} is not there, or has no numbers to measure. There are: {', '.join(names)}.")
    return full


def measure(paper: str, of: Published, settings: Settings, results: Path) -> tuple[str, Ours | str] | None:
    """Return a table's model and figures, or the reason why there are none; None where this run measures nothing."""
    asked, model = ASKED.get(paper, {}).get(of.name), settings.model or OFFLINE
    try:
        if of.ours and model == OFFLINE:
            return model, read_table(of, results)
        if asked is not None:
            return model, asked(settings)
    except NotMeasured as reason:
        return model, str(reason)
    return (model, of.missing) if model == OFFLINE else None


def page(paper: str, tables: dict[str, Published], results: Record) -> str:
    """Return all tables of a paper that were measured."""
    about = (__doc__ or "").partition("The published numbers")[2].partition("Times are")[0]
    parts = [
        f"# {title(paper)}: its tables, with ours beside them",
        "The published numbers" + " ".join(about.split(" ")),
    ]
    parts[1] = " ".join(parts[1].split()) + f" Made by `{COMMAND.format(paper)}`."
    parts += [section(tables[name], results[name]) for name in tables if name in results]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
