"""Attack indexes, and check that every promise holds: kills, crashes, damaged files, load, hostile input.

    python benchmarks/faults.py [--data DIR] [--only PART ...] [--seed 1] [--minutes 10]

Each part is a module `fault_PART.py` beside this one, with a function `run(options)` that returns a record, and perhaps
a function `add_arguments(parser)`. `failures` of the record is empty where all promises held. Writes the record of each
part as `faults-PART.json`; the exit code is 1 if any part has failures. `--minutes` limits each part that draws its
attacks at random. Short forms of the parts run as tests, in `tests/faults`.
"""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path

from harness import arguments, parse, write_results

PREFIX = "fault_"
PARTS = sorted(path.stem.removeprefix(PREFIX) for path in Path(__file__).parent.glob(f"{PREFIX}*.py"))


def main() -> int:
    """Run the parts asked for; return 1 if a promise was broken."""
    modules = {part: import_module(PREFIX + part) for part in PARTS}
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
        failures = record["failures"]
        print(f"{part}: {len(failures)} failures in {time.perf_counter() - begun:,.0f} s", *failures, sep="\n  ")
        broken += [part] * bool(failures)
    return int(bool(broken))


if __name__ == "__main__":
    raise SystemExit(main())
