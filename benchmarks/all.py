"""Run every benchmark, and tell which tables are of the present state of the code.

    python benchmarks/all.py --data DIR [--work runs] [--jobs 4] [--minutes 60] [--only quality 'lego *' ...]
    python benchmarks/all.py --list      the commands with their costs in minutes of a core, and what is done
    python benchmarks/all.py --stale     the state of the code behind each file of results

Commands that measure no time run --jobs at a time, each on one core and with one thread; those that do run alone
afterwards, and nothing else should run meanwhile. A command whose results are of the present state of the code is
skipped. What a command prints goes to a file in `logs` below --work; what fails is named at the end, and the others run
all the same. After --minutes, or when it is interrupted, running commands are ended: their rows are kept, and the same
call goes on. The times of finished commands are kept in `commands.json` beside the results.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commands import BY_HAND, Command, commands
from stamps import INPUTS, RESULTS, RUN_ALL, read_stamped, state, states_in, states_of, update_times

FOLDER = Path(__file__).parent
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)
GRACE = 20  # seconds that a command which is told to end may take


@dataclass
class Job:
    """A command that runs, on one core if it shares the machine."""

    command: Command
    process: subprocess.Popen[bytes]
    slot: int
    begun: float = field(default_factory=time.monotonic)


class Runner:
    """Runs commands as processes, and keeps what failed and what each took."""

    def __init__(self, options: Namespace) -> None:
        self.options = options
        self.logs = options.work / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.cores = sorted(os.sched_getaffinity(0))
        self.until = time.monotonic() + 60 * options.minutes
        self.running: list[Job] = []
        self.failed: list[Command] = []

    def run(self, todo: Sequence[Command]) -> list[Command]:
        """Run commands, each when those that it follows have ended; return those that were not finished."""
        waiting = list(todo)
        try:
            while (waiting or self.running) and time.monotonic() < self.until:
                for job in [job for job in self.running if self.ended(job)]:
                    self.running.remove(job)
                while (following := self.next_of(waiting)) is not None:
                    waiting.remove(following)
                    self.begin(following)
                time.sleep(0.2)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        finally:
            unfinished = [job.command for job in self.running]
            self.end_all()
        return [*unfinished, *waiting]

    def next_of(self, waiting: Sequence[Command]) -> Command | None:
        """Return a command that can begin now: a timed one when no other runs and only timed ones could."""
        going = [job.command for job in self.running]
        if any(command.timed for command in going):
            return None
        left = [*waiting, *going]
        ready = [command for command in waiting if not any(command.follows(other) for other in left)]
        shared = [command for command in ready if not command.timed]
        if shared:
            return shared[0] if len(going) < self.options.jobs else None
        return ready[0] if ready and not going else None

    def begin(self, command: Command) -> None:
        """Begin a command; one that shares the machine gets one core and one thread."""
        slot = next(n for n in range(self.options.jobs) if all(job.slot != n for job in self.running))
        core = self.cores[slot % len(self.cores)]
        alone = command.timed or (self.options.jobs == 1 and len(self.cores) == 1)
        with self.log(command).open("ab") as log:
            process = subprocess.Popen(
                call(command, self.options),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=dict(os.environ) if command.timed else os.environ | ONE_THREAD,
                preexec_fn=None if alone else lambda: os.sched_setaffinity(0, {core}),
            )
        self.running.append(Job(command, process, slot))
        print(f"begun: {command.name}", flush=True)

    def ended(self, job: Job) -> bool:
        """Return whether a command has ended; what it took is kept where it succeeded."""
        pid, status, used = os.wait4(job.process.pid, os.WNOHANG)
        if not pid:
            return False
        job.process.returncode = os.waitstatus_to_exitcode(status)
        minutes = (time.monotonic() - job.begun) / 60
        cores = (used.ru_utime + used.ru_stime) / 60
        print(f"ended: {job.command.name}, {minutes:.1f} min, exit {job.process.returncode}", flush=True)
        if job.process.returncode:
            self.failed.append(job.command)
        else:
            took = {
                "code": state(job.command.arguments[0]),
                "minutes": round(minutes, 1),
                "minutes of a core": round(cores, 1),
            }
            update_times(self.options.out / "commands.json", job.command.name, took)
        return True

    def end_all(self) -> None:
        """End all running commands with their own processes."""
        for job in self.running:
            os.killpg(job.process.pid, signal.SIGTERM)
        until = time.monotonic() + GRACE
        for job in self.running:
            try:
                job.process.wait(max(0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(job.process.pid, signal.SIGKILL)
                job.process.wait()
            print(f"stopped: {job.command.name}", flush=True)
        self.running = []

    def log(self, command: Command) -> Path:
        """Return the file of what a command prints."""
        return Path(self.logs / f"{command.name.replace(' ', '-')}.log")


def call(command: Command, options: Namespace) -> list[str]:
    """Return the command line of a command."""
    script, *more = command.arguments
    return [
        *(sys.executable, str(FOLDER / script), "--data", str(options.data)),
        *("--work", str(options.work), "--out", str(options.out), *more),
    ]


def finished(command: Command, out: Path) -> bool:
    """Return whether a command has succeeded, and all its results are there, with the present state of the code."""
    _, times = read_stamped(out / "commands.json")
    now = state(command.arguments[0])
    if (times or {}).get(command.name, {}).get("code") != now:
        return False
    return all((out / file).exists() and states(out / file, *part) == [now] for file, *part in command.writes)


def states(path: Path, *part: str) -> list[str]:
    """Return the states behind a part of a file."""
    return states_of(path, *part) if part else states_in(path)


def listed(every: Sequence[Command], out: Path) -> None:
    """Print all commands with their costs, and the sums."""
    _, times = read_stamped(out / "commands.json")
    for command in every:
        took = (times or {}).get(command.name, {}).get("minutes of a core")
        done = "done" if finished(command, out) else ""
        cost = f"{command.minutes:5.1f} {'' if took is None else f'{took:.1f}':>5}"
        print(f"{cost} {'alone' if command.timed else '':5} {done:4} {command.name}: {' '.join(command.arguments)}")
    for title, timed in (("that measure no time", False), ("that run alone", True)):
        own = [command.minutes for command in every if command.timed == timed]
        print(f"{len(own)} commands {title}: about {sum(own):.0f} minutes of one core")


def stale(out: Path) -> int:
    """Print the states behind every file of results; return how many are not of the present one."""
    whole, count = state(RUN_ALL[0]), 0
    present = {state(), whole}
    print(f"present state of the code: {whole}")
    for path in sorted(path for kind in ("*.json", "*.md") for path in out.rglob(kind)):
        name = path.relative_to(out)
        if name.parts[0] in INPUTS or name.name.startswith("."):
            continue
        found = states_in(path)
        by_hand = f"  by hand: {BY_HAND[path.stem]}" if path.stem in BY_HAND else ""
        is_present = set(found) <= present
        count += not is_present
        print(f"{'present' if is_present else 'stale':8}{name}: {', '.join(found)}{by_hand}")
        parts = read_stamped(path)[0].items() if path.suffix == ".json" else ()
        if len(parts) > 1 and not is_present:
            print(f"        of other states: {', '.join(part for part, made in parts if not present.issuperset(made))}")
    return count


def parsed(arguments: Sequence[str] | None = None) -> Namespace:
    """Return the options."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--work", type=Path, default=Path("runs"), help="folder of indexes, unfinished runs and logs")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument(
        "--only", nargs="+", default=["*"], metavar="NAME", help="scripts, commands, or patterns of them"
    )
    parser.add_argument("--kind", choices=["timed", "untimed"], help="only commands that measure time, or only others")
    parser.add_argument("--jobs", type=int, default=1, help="commands at a time that measure no time")
    parser.add_argument("--minutes", type=float, default=1e6, help="after which running commands are ended")
    parser.add_argument("--list", action="store_true", help="only print the commands")
    parser.add_argument("--stale", action="store_true", help="only print the states of the results; 1 if any is stale")
    options = parser.parse_args(arguments)
    if not (options.list or options.stale or options.data):
        parser.error("--data is needed to run benchmarks.")
    if options.jobs < 1:
        parser.error("--jobs must be at least 1.")
    return options


def chosen(options: Namespace) -> list[Command]:
    """Return the commands asked for. Raises SystemExit for a name that none has."""
    every = commands()
    for pattern in options.only:
        if not any(command.fits(pattern) for command in every):
            raise SystemExit(f"No command is called {pattern!r}; --list prints all.")
    wanted: Any = {"timed": (True,), "untimed": (False,), None: (True, False)}[options.kind]
    return [c for c in every if c.timed in wanted and any(c.fits(pattern) for pattern in options.only)]


def main() -> int:
    """Run, or list, the benchmarks asked for."""
    options = parsed()
    if options.stale:
        return int(stale(options.out) > 0)
    every = chosen(options)
    if options.list:
        listed(every, options.out)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    todo = [command for command in every if not finished(command, options.out)]
    print(f"{len(todo)} of {len(every)} commands are to be run, state of the code {state()}", flush=True)
    runner = Runner(options)
    unfinished = runner.run(todo)
    if unfinished:
        print(f"{len(unfinished)} commands are not finished; the same call goes on.")
    for command in runner.failed:
        print(f"failed: {command.name}; see {runner.log(command)}", file=sys.stderr)
    return int(bool(runner.failed))


if __name__ == "__main__":
    raise SystemExit(main())
