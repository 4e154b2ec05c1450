"""Measure LEGO-GraphRAG on knowledge graphs: what each module keeps, what is answered first, and what it costs.

    python benchmarks/lego.py --data DIR [--set metaqa] [--systems 'lego-*' 'PPR / *'] [--sweeps 'TP by *']
                              [--questions 1000] [--minutes 40] [--workers 2] [--quiet] [--page]

Asks the first questions of one seeded order, of MetaQA as many of one hop as of more, and keeps a row for each question
and system below --work: interrupted, the same call continues. Every call ends with a summary of all rows, `lego.json`;
--page makes `lego.md` and its figures of it. With --quiet rows go to a place of their own, for times measured while
nothing else runs. Systems and sweeps are named in lego_systems.py; systems with the same extraction share it.

All is offline: E is the sentence encoder, C the embedded cross-encoder, and what the paper lets a language model do is
done by C, another model than E: findings about language models are not testable here. Entities are the gold ones.
Vectors of names and triples are made once and kept, as an index has them.
"""

from __future__ import annotations

import json
import os
import re
import resource
import time
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from fnmatch import fnmatchcase
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from harness import Record, Rows, arguments, evidence_of, parse, read_results, write_results
from lego_findings import PAIRS
from lego_page import write_page
from lego_systems import EDGES_KEPT, PREPARED, SETS, Kit, Sweep, questions, sweeps, systems

from graphwright.evaluate.measures import path_quality, subgraph_quality
from graphwright.evaluate.metrics import hits_at_1
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.generate.readers import TargetAnswer
from graphwright.graph.graph import Graph
from graphwright.kernels.hops import components
from graphwright.operators.operator import Keep, Operator, Then
from graphwright.operators.run import Run
from graphwright.operators.state import State, start
from graphwright.operators.subgraph.walk import KHop

KEPT = 32  # paths that are judged and answered from, N_p
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
BY_KIND = ("se recall", "se f1", "se tokens", "pr recall", "pr f1", "pr hits@1", "pr tokens")
COST = ("ms", "cpu ms", "texts", "tokens", "peak MB")


def split(operator: Operator) -> tuple[Operator, Operator]:
    """Return extraction and retrieval: the steps up to the last that narrows the graph, and those after it."""
    steps = operator.steps if isinstance(operator, Then) else (operator,)
    last = max((at for at, step in enumerate(steps, 1) if "graph" in step.gives), default=0)
    first, second = (Then(part) if part else Keep() for part in (steps[:last], steps[last:]))
    return first, second


def peak() -> float:
    """Return the largest memory of the process in MB since it was last reset."""
    with suppress(OSError):
        if match := re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text()):
            return int(match[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(step: Any, state: State) -> tuple[Any, Record]:
    """Return the result of a step, and its cost; `peak MB` is of the whole process meanwhile."""
    with suppress(OSError):  # resets the largest memory to the current one
        Path("/proc/self/clear_refs").write_text("5")
    run, begun, used = Run(), time.perf_counter(), time.process_time()
    result = step(state, run) if isinstance(step, Operator) else step(state)
    times = (time.perf_counter() - begun) * 1e3, (time.process_time() - used) * 1e3
    return result, dict(zip(COST, (*times, run.usage.texts, run.usage.tokens, peak()), strict=True))


def subgraph(state: State, answers: Sequence[str]) -> Record:
    """Return the quality and the size of the graph that is searched, nothing if it is the whole one."""
    graph = state.graph
    if graph.whole:
        return {}
    parts = int(components(*graph.adjacency).max(initial=-1)) + 1
    sizes = {"nodes": len(graph), "edges": len(graph.edges), "components": parts}
    return subgraph_quality(graph, answers)._asdict() | sizes


def paths(state: State, answers: Sequence[str]) -> Record:
    """Return the quality of the first 32 paths, and F1 of other numbers of them."""
    evidence = evidence_of(state)
    few = state.with_(evidence=evidence.top(KEPT))
    answer = TargetAnswer()(few).answer
    targets = [citation.text for citation in answer.citations] if answer else []
    return path_quality(few, answers)._asdict() | {
        "paths": min(len(evidence), KEPT),
        "targets": len(targets),
        "hits@1": hits_at_1(targets, answers),
        "f1 by paths": [path_quality(state.with_(evidence=evidence.top(n)), answers).f1 for n in COUNTS],
    }


def about(at: int, question: Any) -> Record:
    """Return the fields of a row that describe its question."""
    sizes = {"answers": len(question.answers), "entities": len(question.entities)}
    return {"question": question.id, "at": at, "hops": question.hops, **sizes, "load": os.getloadavg()[0]}


def begin(question: Any, graph: Graph) -> State:
    """Return the start state of a question with its gold entities."""
    return start(question.text, graph, entities=question.entities)


def rows_of(options: Namespace, kind: str, name: str) -> Rows:
    """Return the rows of a system or sweep on a set."""
    return Rows(place(options) / kind / f"{name.replace(' ', '_').replace('/', '-')}.jsonl", "question")


def place(options: Namespace) -> Path:
    """Return the folder of the rows of a set."""
    folder: Path = options.work / "lego" / ("quiet" if options.quiet else "rows") / options.set
    return folder


def ask(kit: Kit, names: Sequence[str], sweep: str, options: Namespace) -> Iterator[None]:
    """Ask systems of one extraction and a sweep of it what has no row yet; yield after each question."""
    operators = {name: systems(kit)[name]() for name in names}
    parts = {name: split(operator) for name, operator in operators.items()}
    extraction = parts[names[0]][0] if names else Keep()
    sizes = sweeps(kit)[sweep]() if sweep else None
    rows = {name: rows_of(options, "systems", name) for name in names}
    swept = rows_of(options, "sweeps", sweep) if sweep else None
    every = questions(kit.folder, options.questions)
    warm(kit, [*operators.values(), *([sizes.ranked] if sizes else [])], every[0])
    for at, question in enumerate(every):
        state, cost = begin(question, kit.graph), None
        missing = [name for name in names if (question.id,) not in rows[name]]
        if sizes is not None and swept is not None and (question.id,) not in swept:
            ranked, cost = measured(sizes.ranked, state)
            points = {size: subgraph(sizes.cut(ranked, size), question.answers) for size in sizes.sizes}
            swept.add(about(at, question) | {"expression": repr(sizes), "points": points} | cost)
            if EDGES_KEPT in points and missing:
                state = sizes.cut(ranked, EDGES_KEPT)
        if missing:
            if cost is None or state.graph.whole:
                state, cost = measured(extraction, state)
            found = subgraph(state, question.answers)
            for name in missing:
                after, own = measured(parts[name][1], state)
                row = {"se": cost | found if found else None, "pr": paths(after, question.answers) | own}
                rows[name].add(about(at, question) | {"expression": repr(operators[name])} | row)
        yield


def warm(kit: Kit, steps: Sequence[Any], question: Any) -> None:
    """Run everything once on a few nodes, so that compiling and loading is no question's cost."""
    near = evidence_of(KHop(1)(begin(question, kit.graph))).nodes[:30]
    for step in steps:
        step(begin(question, kit.graph.part(near)))


def job(names: Sequence[str], sweep: str, options: Namespace, until: float) -> str:
    """Do one job until its questions or the time are over; return a line about it."""
    kit, count = Kit.open(options.data / "kgqa" / options.set, options.work / "lego" / "vectors"), 0
    for _ in ask(kit, names, sweep, options):
        count += 1
        if time.time() > until:
            break
    return f"{options.set}: {', '.join([*names, *([sweep] if sweep else [])])}: {count} questions, {peak():.0f} MB"


def jobs(options: Namespace) -> list[tuple[list[str], str]]:
    """Return the jobs: systems that share their extraction, and a sweep with those whose extraction it includes.

    Of systems with the same expression only the first is asked; `names.json` has the name of the first for each.
    """
    kit = Kit.open(options.data / "kgqa" / options.set, options.work / "lego" / "vectors")
    groups: dict[str, list[str]] = defaultdict(list)
    first: dict[str, str] = {}
    same_as: dict[str, str] = {}
    for name, build in systems(kit).items():
        operator = build()
        same_as[name] = first.setdefault(repr(operator), name)
        group = groups[repr(split(operator)[0])]
        if matches(name, options.systems) and same_as[name] not in group:
            group.append(same_as[name])
    listed = {extraction: (names, "") for extraction, names in groups.items() if names}
    for name, build_sweep in sweeps(kit).items():
        sweep: Sweep = build_sweep()  # workers find the vectors that it needs
        if matches(name, options.sweeps):
            key = repr(sweep.at(EDGES_KEPT)) if EDGES_KEPT in sweep.sizes else name
            listed[key] = (listed.get(key, ([], ""))[0], name)
    write_results(place(options) / "names.json", same_as)
    before = place(options) / "before.json"
    if not before.exists() and any(matches(name, options.systems) for name in PREPARED):
        seconds = {part: kit.seconds(part) for part in sorted({p for parts in PREPARED.values() for p in parts})}
        write_results(before, {name: sum(seconds[part] for part in parts) for name, parts in PREPARED.items()})
    return list(listed.values())


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a name fits a pattern."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def read_rows(folder: Path) -> dict[str, list[Record]]:
    """Return the rows of every file of a folder by the name of the file, in the order of the questions."""
    rows = {file.stem: list(Rows(file, "question").rows.values()) for file in sorted(folder.glob("*.jsonl"))}
    return {name: sorted(own, key=lambda row: row["at"]) for name, own in rows.items() if own}


def summarised(work: Path) -> Record:
    """Return the summary of all rows, as the page takes it."""
    results: Record = {}
    for name in SETS:
        folder = work / "rows" / name
        if not (folder / "names.json").exists():
            continue
        same_as: dict[str, str] = read_results(folder / "names.json")
        rows = named(read_rows(folder / "systems"), same_as)
        every = {system: rows[first] for system, first in same_as.items() if first in rows}
        common = min((len(own) for system, own in every.items() if system.startswith("lego-")), default=0)
        kit_sweeps = read_rows(folder / "sweeps")
        results[name] = {
            "called": {system: same_as[system] for system in every if same_as[system] != system},
            "systems": {system: of_system(own, common) for system, own in rows.items()},
            "sweeps": {system.replace("_", " "): of_sweep(own) for system, own in kit_sweeps.items()},
            "quiet": timed(named(read_rows(work / "quiet" / name / "systems"), same_as)),
            "before": read_results(folder / "before.json"),
            "pairs": {f"{a} | {b}": paired(every[a], every[b]) for a, b in PAIRS if a in every and b in every},
        }
    return results


def named(rows: Mapping[str, list[Record]], names: Mapping[str, str]) -> dict[str, list[Record]]:
    """Return rows by the name of their system instead of that of their file."""
    of_file = {name.replace(" ", "_").replace("/", "-"): name for name in names}
    return {of_file[file]: own for file, own in rows.items() if file in of_file}


def timed(systems: Mapping[str, list[Record]]) -> Record:
    """Return the median times of each system, which a quiet machine made."""
    times: Record = {}
    for name, rows in systems.items():
        times[name] = {"questions": len(rows)}
        for module in ("se", "pr"):
            if rows[0][module]:
                times[name][module] = round(float(np.median([row[module]["ms"] for row in rows])), 2)
    return times


def paired(ours: Sequence[Record], theirs: Sequence[Record]) -> Record:
    """Return the differences between two systems on the questions that both were asked, with p values."""
    others = {row["question"]: row["pr"] for row in theirs}
    both = [(row["pr"], others[row["question"]]) for row in ours if row["question"] in others]
    result: Record = {"questions": len(both)}
    for metric in ("recall", "f1", "hits@1"):
        a, b = np.array([(first[metric], second[metric]) for first, second in both], float).T
        result[metric] = [round(float((a - b).mean()), 4), round(paired_test(a, b), 4)]
    return result


def of_system(rows: Sequence[Record], common: int) -> Record:
    """Return the means of a system over all questions and over each kind; `common` are the first of all systems."""
    kinds = {f"hops {hops}": [row for row in rows if row["hops"] == hops] for hops in (1, 2, 3)}
    kinds |= {
        "one answer": [row for row in rows if row["answers"] == 1],
        "several answers": [row for row in rows if row["answers"] > 1],
        "common": list(rows[:common]) if len(rows) >= common else [],
    }
    kinds |= {f"entities {n}": [row for row in rows if row["entities"] == n] for n in {r["entities"] for r in rows}}
    load = {"load": round(float(np.median([row["load"] for row in rows])), 2)}
    by = {name: means(some, BY_KIND) for name, some in kinds.items() if some}
    return {"expression": rows[0]["expression"]} | means(rows) | load | {"by": by}


def means(rows: Sequence[Record], names: Sequence[str] = ()) -> Record:
    """Return the means of all values with intervals, or of some values without."""
    values: Record = {"questions": len(rows)}
    for module in ("se", "pr"):
        for name in rows[0][module] or ():
            each, key = np.array([row[module][name] for row in rows], float), f"{module} {name}"
            if not names or key in names:
                values[key] = each.mean(axis=0).round(5).tolist()
            if name in ("ms", "cpu ms"):
                values[f"{key} p50"] = round(float(np.median(each)), 3)
            if not names and name in ("recall", "f1", "hits@1"):
                values[f"{key} interval"] = [round(end, 4) for end in bootstrap_interval(each)]
    return values


def of_sweep(rows: Sequence[Record]) -> Record:
    """Return the means of a sweep at each size."""
    points: Record = {}
    for size in rows[0]["points"]:
        at_size = [row["points"][size] for row in rows]
        points[size] = {name: round(float(np.mean([point[name] for point in at_size])), 5) for name in at_size[0]}
        ends = bootstrap_interval([point["recall"] for point in at_size])
        points[size]["recall interval"] = [round(end, 4) for end in ends]
    cost = {name: round(float(np.mean([row[name] for row in rows])), 3) for name in COST}
    p50 = {f"{name} p50": round(float(np.median([row[name] for row in rows])), 3) for name in ("ms", "cpu ms")}
    return {"expression": rows[0]["expression"], "questions": len(rows), "points": points} | cost | p50


def main() -> None:
    """Ask, summarise, and write the page."""
    parser = arguments(__doc__)
    parser.add_argument("--set", choices=list(SETS), default="metaqa")
    parser.add_argument("--systems", nargs="*", default=[], help="names, or patterns of them")
    parser.add_argument("--sweeps", nargs="*", default=[], help="names, or patterns of them")
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=1e6, help="no question is begun after that")
    parser.add_argument("--workers", type=int, choices=(1, 2), default=2)
    parser.add_argument("--quiet", action="store_true", help="measure times while nothing else runs")
    parser.add_argument("--page", action="store_true", help="write the page and the figures too")
    options = parse(parser)
    if options.systems or options.sweeps:
        todo, until = jobs(options), time.time() + 60 * options.minutes
        with ProcessPoolExecutor(options.workers, get_context("spawn"), max_tasks_per_child=1) as pool:
            for done in as_completed([pool.submit(job, names, sweep, options, until) for names, sweep in todo]):
                print(done.result(), flush=True)
        write_results(options.out / "lego.json", summarised(options.work / "lego"))
    if options.page:
        write_page(json.loads((options.out / "lego.json").read_text("utf-8")), options.out)


if __name__ == "__main__":
    main()
