from __future__ import annotations

import importlib
import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import all as every_benchmark
import pytest
import stamps
from all import Runner, chosen, finished, parsed, stale
from commands import BY_HAND, Command, commands
from harness import update_results, write_results

SCRIPT = """
import json, os, sys, time
from pathlib import Path
given = sys.argv[1:]
out, work = (Path(given[given.index(name) + 1]) for name in ("--out", "--work"))
kind, name = given[-2:]
with (out / "events.txt").open("a") as events:
    print("begin", name, file=events, flush=True)
    if kind == "slow":
        time.sleep(60)
    if kind == "fail":
        print("no such set")
        sys.exit(3)
    time.sleep(0.3)
    print("end", name, os.environ.get("OMP_NUM_THREADS", ""), len(os.sched_getaffinity(0)), file=events, flush=True)
(out / f"{name}.json").write_text(json.dumps({"code": {"": ["abc"]}, "results": {}}))
"""
Make = Callable[..., Command]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A maker of commands that call one small script; the state of the code is `abc`."""
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(every_benchmark, "FOLDER", tmp_path)
    monkeypatch.setattr(every_benchmark, "state", lambda script: "abc")

    def made(name: str, kind: str = "good", timed: bool = False, after: Sequence[str] = ()) -> Command:
        return Command(name, ("script.py", kind, name), 1.0, ((f"{name}.json",),), timed, tuple(after))

    return made


def options(tmp_path: Path, *more: str) -> Namespace:
    """The options of a call in a folder."""
    return parsed(["--data", "none", "--work", str(tmp_path / "runs"), "--out", str(tmp_path / "out"), *more])


def command_lines() -> list[bytes]:
    """Return the command lines of all processes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes())
    return found


def events(tmp_path: Path) -> list[list[str]]:
    """What the script wrote, line by line."""
    return [line.split() for line in (tmp_path / "out" / "events.txt").read_text().splitlines()]


def test_untimed_commands_run_in_parallel_and_timed_ones_alone(make: Make, tmp_path: Path) -> None:
    jobs = [make("a"), make("b"), make("slowest", timed=True), make("c", after=["a"]), make("page", after=["slow*"])]
    assert Runner(options(tmp_path, "--jobs", "2")).run(jobs) == []
    lines = events(tmp_path)
    begun = [line[1] for line in lines if line[0] == "begin"]
    assert [line[:2] for line in lines[:2]] in ([["begin", "a"], ["begin", "b"]], [["begin", "b"], ["begin", "a"]])
    assert begun[2:] == ["c", "slowest", "page"]
    at = next(at for at, line in enumerate(lines) if line[:2] == ["begin", "slowest"])
    assert lines[at + 1][:2] == ["end", "slowest"]
    ends = {line[1]: line[2:] for line in lines if line[0] == "end"}
    assert ends["a"] == ["1", "1"]
    assert ends["slowest"] == [
        *filter(None, [os.environ.get("OMP_NUM_THREADS", "")]),
        str(len(os.sched_getaffinity(0))),
    ]


def test_finished_command_is_skipped_until_code_or_results_change(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, given = make("a"), options(tmp_path)
    assert not finished(command, given.out)
    Runner(given).run([command])
    assert finished(command, given.out)
    with monkeypatch.context() as patch:
        patch.setattr(every_benchmark, "state", lambda script: "def")
        assert not finished(command, given.out)
    (given.out / "a.json").write_text('{"code": {"": ["older", "abc"]}, "results": {}}')
    assert not finished(command, given.out)
    (given.out / "a.json").unlink()
    assert not finished(command, given.out)


def test_failed_command_has_log_and_stops_no_other(make: Make, tmp_path: Path) -> None:
    runner = Runner(options(tmp_path))
    bad = make("bad", "fail")
    assert runner.run([bad, make("a")]) == []
    assert runner.failed == [bad]
    assert runner.log(bad).read_text() == "no such set\n"
    assert not finished(bad, tmp_path / "out")
    assert finished(make("a"), tmp_path / "out")


def test_commands_end_at_time_limit(make: Make, tmp_path: Path) -> None:
    runner = Runner(options(tmp_path, "--minutes", "0.03", "--jobs", "2"))
    slow, waiting = make("s", "slow"), make("w", after=["s"])
    begun = time.monotonic()
    assert runner.run([slow, waiting]) == [slow, waiting]
    assert time.monotonic() - begun < 30
    assert runner.failed == []
    assert not any(str(tmp_path / "script.py").encode() in line for line in command_lines())


def test_stale_files_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stamps, "_work", [])
    monkeypatch.setattr(stamps, "package", lambda: tmp_path / "package")
    for name in ("package", "scorer"):
        (tmp_path / name).mkdir()
    write_results(tmp_path / "a.json", {}, "# A")
    (tmp_path / "b.md").write_text("# B\n")
    (tmp_path / "c.json").write_text('{"x": {"y": 1}, "z": {"y": 1}}')
    update_results(tmp_path / "c.json", ["x"], {"y": 2})
    (tmp_path / "scorer" / "hotpotqa.json").write_text("{}")
    assert stale(tmp_path) == 2
    now = stamps.state()
    assert capsys.readouterr().out.splitlines() == [
        f"present state of the code: {stamps.state('serve.py')}", f"present a.json: {now}",
        f"present a.md: {now}", "stale   b.md: unknown",
        f"stale   c.json: unknown, {now}", "        of other states: z",
    ]  # fmt: skip


# The list of commands


def test_command_names_are_unique_and_ordered() -> None:
    every = commands()
    assert len({command.name for command in every}) == len(every)
    for command in every:
        assert (every_benchmark.FOLDER / command.arguments[0]).exists()
        for pattern in command.after:
            assert any(other.fits(pattern) for other in every if other is not command), (command.name, pattern)


def test_command_dependencies_have_no_cycle() -> None:
    left = commands()
    while left:
        ready = [command for command in left if not any(command.follows(other) for other in left)]
        assert ready
        left = [command for command in left if command not in ready]


def test_every_result_file_has_command() -> None:
    written = {Path(file).stem for command in commands() for file, *_ in command.writes} | BY_HAND.keys()
    # What a command of another name writes: of fastinsight, reg, faults and serve.
    pages = {"corpora", "reg_labels", "faults"}
    files = [p for kind in ("*.json", "*.md") for p in stamps.RESULTS.rglob(kind)]
    there = {p.stem for p in files if p.relative_to(stamps.RESULTS).parts[0] not in stamps.INPUTS}
    assert there - written - pages == set()


class Parsed(Exception):
    """The arguments of a command are good."""


@pytest.mark.parametrize("script", sorted({command.arguments[0] for command in commands()} - {"scale.py"}))
def test_scripts_accept_arguments_of_their_commands(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(script.removesuffix(".py").replace("/", "."))

    def parse(parser: object, **more: object) -> None:
        parser.parse_args()  # type: ignore[attr-defined]
        raise Parsed

    monkeypatch.setattr(module, "parse", parse)
    for command in (command for command in commands() if command.arguments[0] == script):
        monkeypatch.setattr(sys, "argv", every_benchmark.call(command, Namespace(data="d", work="w", out="o"))[1:])
        with pytest.raises(Parsed):
            module.main()


def test_names_select_commands() -> None:
    names = [
        command.name for command in chosen(parsed(["--list", "--only", "lego", "quality light*", "--kind", "untimed"]))
    ]
    assert "lego metaqa" in names
    assert "quality light cora" in names
    assert not {"lego quiet", "quality long", "papers lego"} & set(names)
    with pytest.raises(SystemExit, match="No command is called 'leg'"):
        chosen(parsed(["--list", "--only", "leg"]))
