"""Run every benchmark, one after the other, each in a process of its own.

    python benchmarks/all.py --data DIR [--work runs] [--only quality lego ...] [--list]

Those that can continue after an interruption do so. What fails is named at the end; the others run all the same. All of
it takes a day on two cores; nothing else should run meanwhile, because most measure time.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from harness import arguments, parse

FOLDER = Path(__file__).parent
SCRIPTS: dict[str, list[list[str]]] = {
    "quality": [[]],
    "ablations": [[]],
    "fastinsight": [[]],
    "lego": [
        ["--set", "metaqa", "--systems", "*", "--sweeps", "*", "--minutes", "120"],
        ["--set", "pq-2h", "--systems", "*", "--sweeps", "*", "--minutes", "120"],
        ["--set", "pql-2h", "--systems", "*", "--sweeps", "*", "--minutes", "120"],
        ["--page"],
        ["--plans"],
    ],
    "reg": [[]],
    "papers": [["--paper", name] for name in ("bubblerag", "fastinsight", "lego", "pathrag", "reg")],
    "everyday": [[], ["graphs"]],
    "languages": [[]],
    "formats": [[]],
    "adapters": [[]],
    "kernels": [[]],
    "latency": [[]],
    "serve": [[]],
    "faults": [[]],
    "models": [[]],
    "blend": [[]],
    "extraction": [[]],
    "depth": [["--steps", "300", "--layers", "5", "4", "3"]],
}


def main() -> int:
    """Run the benchmarks asked for."""
    parser = arguments(__doc__, parts=list(SCRIPTS))
    parser.add_argument("--list", action="store_true", help="only print the commands")
    options = parse(parser)
    failed = []
    for name in options.only:
        for more in SCRIPTS[name]:
            command = [str(FOLDER / f"{name}.py"), "--data", str(options.data), "--work", str(options.work), *more]
            print("python", *command, flush=True)
            if not options.list:
                begun = time.perf_counter()
                status = subprocess.run([sys.executable, *command]).returncode
                print(f"{name}: {time.perf_counter() - begun:,.0f} s, exit {status}", flush=True)
                failed += [name] * bool(status)
    if failed:
        print(f"Failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
