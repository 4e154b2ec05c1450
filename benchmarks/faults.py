"""Attack indexes, and check that every promise holds: kills, crashes, damaged files, load, hostile input.

    python benchmarks/faults.py [--data DIR] [--only PART ...] [--seed 1] [--minutes 10]

Each part is a module `attacks/PART.py`, with a function `run(options)` that returns a record, and perhaps
a function `add_arguments(parser)`. `failures` of the record is empty where all promises held. Writes the record of each
part as `faults-PART.json`, and a table of all, `faults.md`; the exit code is 1 if any part has failures. `--minutes`
limits each part that draws its attacks at random. Short forms of the parts run as tests, in `tests/faults`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from harness import Record, arguments, parse, read_results, table, write_page, write_results
from stamps import alone, states_in, together

DONE: Mapping[str, Callable[[Record], str]] = {
    "blocks": lambda of: f"one graph of {of['nodes']:,} nodes and {of['edges']:,} edges",
    "commands": lambda of: f"{sum(of['outcomes'].values()):,} attacks",
    "crash": lambda of: (
        f"{len(of['operations'])} operations, {_sum(of['operations'], 'calls')} calls that write, "
        f"{_sum(of['operations'], 'states')} states of the disk"
    ),
    "damage": lambda of: f"{of['damaged']:,} damaged files",
    "fuzz": lambda of: f"{len(of['inputs'])} readers, {sum(of['inputs'].values()):,} inputs",
    "kills": lambda of: f"{of['kills']:,} kills",
    "llm": lambda of: f"{sum(of['outcomes'].values()):,} calls",
    "load": lambda of: (
        f"{of['beside a writer']['queries']:,} queries beside {of['beside a writer']['changes meanwhile']:,} "
        f"changes; {of['mixed']['operations']:,} mixed operations, after a tenth of which the process has "
        f"{of['mixed']['memory, MB'][1]} MB, and {of['mixed']['memory, MB'][-1]} in the end"
    ),
    "server": lambda of: f"{of['counts']['ended by SIGKILL']} servers killed, {of['counts']['jobs done']:,} jobs done",
}
"""What each part did, in words."""
PARTS = sorted(DONE)


def _sum(rows: Mapping[str, Record], name: str) -> str:
    return f"{sum(row[name] for row in rows.values()):,}"


def write_table(out: Path) -> None:
    """Write the table of the parts that have results."""
    with alone(out):
        files = {part: out / f"faults-{part}.json" for part in DONE if (out / f"faults-{part}.json").exists()}
        records = {part: read_results(file) for part, file in files.items()}
        rows = [[part, DONE[part](of), of["seed"], len(of["failures"])] for part, of in records.items()]
        page = f"# Attacks\n\n{table(['part', 'what was done', 'seed', 'failures'], rows)}"
        write_page(out / "faults.md", page, together(states_in(file) for file in files.values()))


def main() -> int:
    """Run the parts asked for; return 1 if a promise was broken."""
    modules = {part: import_module(f"attacks.{part}") for part in PARTS}
    parser = arguments(__doc__, parts=PARTS, data=False)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10.0, help="time of each part that draws attacks at random")
    for module in modules.values():
        if hasattr(module, "add_arguments"):
            module.add_arguments(parser)
    options = parse(parser)
    broken = []
    for part in options.only:
        begun = time.perf_counter()
        record = {"seed": options.seed, **modules[part].run(options)}
        write_results(options.out / f"faults-{part}.json", record)
        write_table(options.out)
        failures = record["failures"]
        print(f"{part}: {len(failures)} failures in {time.perf_counter() - begun:,.0f} s", *failures, sep="\n  ")
        broken += [part] * bool(failures)
    return int(bool(broken))


if __name__ == "__main__":
    raise SystemExit(main())
