"""Graph retrieval by LEGO-GraphRAG on knowledge graphs: what each module keeps, what is answered first, what it costs.

    python benchmarks/lego.py --data DIR/kgqa --set metaqa --cache DIR --out DIR \\
        [--systems 'lego-*' 'PPR / *'] [--sweeps 'TP by *'] [--questions 1000] [--minutes 40] [--workers 2]

Asks the first questions of one seeded order, of MetaQA as many of one hop as of more, and keeps a line for each
question and system in --out: broken off, the same call goes on. Every call ends with a summary of all that --out holds,
benchmarks/results/lego.json, of which `benchmarks/lego_page.py` makes the page and the figures; what lies in `quiet`
inside --out, asked with --out DIR/quiet while nothing else ran, gives the times of its own. Systems and sweeps are
named in lego_systems.py; those that begin alike, up to the graph that they search, have that part done once for all.

All is offline: E is the sentence encoder, C the embedded cross-encoder, and what the paper has a language model do is
done by C, another model than E: findings about language models are not testable here. Entities are those given with the
questions. Vectors of names and triples are made once and kept in --cache, as an index has them.
"""

import argparse
import json
import os
import re
import resource
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from fnmatch import fnmatchcase
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from graphwright.models.base import metered
from lego_findings import PAIRS
from lego_systems import ACCELERATED, EDGES_KEPT, SETS, Kit, questions, sweeps, systems

import graphwright as gw
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.kernels.hops import components
from graphwright.operators.operator import Keep, Then

RESULTS = Path(__file__).parent / "results"
KEPT = 32  # paths that are judged and answered from, N_p
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
TOLD = ("se recall", "se f1", "se tokens", "pr recall", "pr f1", "pr hits@1", "pr tokens")
COST = ("ms", "cpu ms", "texts", "tokens", "peak MB")


def split(operator):
    """Return the steps up to the last that narrows the graph, and those after it: extraction and retrieval."""
    steps = operator.steps if isinstance(operator, Then) else (operator,)
    last = max((at for at, step in enumerate(steps, 1) if "graph" in step.gives), default=0)
    return tuple(Then(part) if part else Keep() for part in (steps[:last], steps[last:]))


def run(operator, state):
    """Return the state after an operator, and what it cost; `peak MB` is of the whole process meanwhile."""
    with suppress(OSError):  # the high-water mark of memory is set back to what is held now
        Path("/proc/self/clear_refs").write_text("5")
    begun, used = time.perf_counter(), time.process_time()
    with metered() as usage:
        state = operator(state)
    spent = (time.perf_counter() - begun) * 1e3, (time.process_time() - used) * 1e3
    return state, dict(zip(COST, (*spent, usage.texts, usage.tokens, peak()), strict=True))


def peak():
    with suppress(OSError):
        return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def subgraph(state, answers):
    """Return what is known of the graph that is searched, None if it is all of it."""
    graph = state.graph
    if graph.whole:
        return None
    apart = int(components(*graph.adjacency).max(initial=-1)) + 1
    sizes = {"nodes": len(graph), "edges": len(graph.edges), "components": apart}
    return gw.subgraph_quality(graph, answers)._asdict() | sizes


def paths(state, answers):
    """Return what is known of the first 32 paths, and F1 for other numbers of them."""

    def first(n):
        return state.with_(evidence=state.evidence.top(n))

    few, held = first(KEPT), len(state.evidence)
    targets = [cited.text for cited in gw.TargetAnswer()(few).answer.citations]
    return gw.path_quality(few, answers)._asdict() | {
        "paths": min(held, KEPT),
        "targets": len(targets),
        "hits@1": gw.hits_at_1(targets, answers),
        "f1 by paths": [gw.path_quality(first(n), answers).f1 for n in COUNTS],
    }


def lines_of(file):
    """Return what the whole lines of a file say; one that was being written when a run was broken off is cut off."""
    held = file.read_bytes() if file.exists() else b""
    end = held.rfind(b"\n") + 1
    if end < len(held):
        file.write_bytes(held[:end])
    return [json.loads(line) for line in held[:end].splitlines()]


class Rows:
    """The lines of one system or sweep on one set: the first says what it is, each other what came of a question."""

    def __init__(self, file, name, expression):
        self.file, head = file, {"name": name, "expression": expression}
        file.parent.mkdir(parents=True, exist_ok=True)
        held = lines_of(file)
        if held and held[0] != head:
            raise SystemExit(f"{file} is of {held[0]}, not of {head}: remove it, or give another --out.")
        if not held:
            file.write_text(json.dumps(head) + "\n", encoding="utf-8")
        self.done = {row["question"] for row in held[1:]}

    def add(self, row):
        with self.file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row, default=float) + "\n")
        self.done.add(row["question"])


def about(at, question):
    return {
        "question": question.id,
        "at": at,
        "hops": question.hops,
        "answers": len(question.answers),
        "entities": len(question.entities),
        "load": os.getloadavg()[0],
    }


def begin(kit, question, graph=None):
    return gw.start(question.text, graph or kit.graph, entities=question.entities)


def warmed(kit, operators, question):
    """Run everything once on a few nodes: what is compiled and loaded once is no question's cost."""
    near = gw.KHop(1)(begin(kit, question)).evidence.nodes[:30]
    for operator in operators:
        operator(begin(kit, question, kit.graph.part(near)))


def asked(kit, names, sweep, given):
    """Ask what was not asked yet, of systems of one extraction and of a sweep of it; yield after each question."""
    made = {name: systems(kit)[name]() for name in names}
    rows = {name: Rows(file_of(given, "systems", name), name, repr(operator)) for name, operator in made.items()}
    parts = {name: split(operator) for name, operator in made.items()}
    many = sweeps(kit)[sweep]() if sweep else None
    if many:
        rows[sweep] = Rows(file_of(given, "sweeps", sweep), sweep, repr(many))
    every = questions(kit.folder, given.questions)
    warmed(kit, [*made.values(), *([many.ranked] if many else [])], every[0])
    for at, question in enumerate(every):
        todo = [name for name in rows if question.id not in rows[name].done]
        state, extraction = begin(kit, question), None
        if sweep in todo:
            ranked, cost = run(many.ranked, state)
            points = {size: subgraph(many.cut(ranked, size), question.answers) for size in many.sizes}
            rows[sweep].add(about(at, question) | {"points": points} | cost)
            if EDGES_KEPT in points:
                state, extraction = many.cut(ranked, EDGES_KEPT), cost | points[EDGES_KEPT]
        if extraction is None and set(todo) & set(names):
            # One extraction for all: that is what they have in common.
            state, cost = run(next(iter(parts.values()))[0], state)
            found = subgraph(state, question.answers)
            extraction = cost | found if found else None
        for name in names:
            if name in todo:
                after, cost = run(parts[name][1], state)
                row = {"se": extraction, "pr": paths(after, question.answers) | cost}
                rows[name].add(about(at, question) | row)
        yield


def file_of(given, kind, name):
    return given.out / given.set / kind / f"{name.replace(' ', '_').replace('/', '-')}.jsonl"


def job(names, sweep, given, until):
    """Do one job until the questions or the time are at an end; return what was done."""
    kit, count = Kit.open(given.data / given.set, given.cache), 0
    for _ in asked(kit, names, sweep, given):
        count += 1
        if time.time() > until:
            break
    return f"{given.set}: {', '.join([*names, *([sweep] if sweep else [])])}: {count} questions, {peak():.0f} MB"


def jobs(given):
    """Return the jobs: systems that share their extraction together, a sweep with those whose extraction it holds.

    Of systems that are the same expression only the first is asked; `names.json` says which stands for which.
    """
    kit = Kit.open(given.data / given.set, given.cache)
    groups, first, called = defaultdict(list), {}, {}
    for name, make in systems(kit).items():
        operator = make()
        called[name] = first.setdefault(repr(operator), name)
        if chosen(name, given.systems) and called[name] not in groups[split(operator)[0]]:
            groups[split(operator)[0]].append(called[name])
    listed = {extraction: (names, None) for extraction, names in groups.items() if names}
    for name, make in sweeps(kit).items():
        sweep = make()  # here, once: workers find the vectors that it needs
        if chosen(name, given.sweeps):
            alike = sweep.at(EDGES_KEPT) if EDGES_KEPT in sweep.sizes else name
            listed[alike] = (listed.get(alike, ([], None))[0], name)
    (given.out / given.set).mkdir(parents=True, exist_ok=True)
    (given.out / given.set / "names.json").write_text(json.dumps(called), encoding="utf-8")
    file = given.out / given.set / "before.json"
    if not file.exists() and any(chosen(name, given.systems) for name in ACCELERATED):
        each = {what: kit.seconds(what) for what in sorted({what for made in ACCELERATED.values() for what in made})}
        before = {name: sum(each[what] for what in made) for name, made in ACCELERATED.items()}
        file.write_text(json.dumps(before), encoding="utf-8")
    return list(listed.values())


def chosen(name, patterns):
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def summarised(out):
    """Return all that a folder of results holds, as the page and the figures take it."""
    found = {}
    for folder in sorted(path for path in out.iterdir() if path.name in SETS):
        held = {kind: read_all(folder / kind) for kind in ("systems", "sweeps")}
        called, before = json.loads((folder / "names.json").read_text("utf-8")), folder / "before.json"
        every = {name: held["systems"][at] for name, at in called.items() if at in held["systems"]}
        common = min((len(rows) for name, (_, rows) in every.items() if name.startswith("lego-")), default=0)
        first = {name: one for name, one in every.items() if called[name] == name}
        found[folder.name] = {
            "called": {name: called[name] for name in every if name not in first},
            "systems": {name: {"expression": at} | of_system(rows, common) for name, (at, rows) in first.items()},
            "sweeps": {name: {"expression": at} | of_sweep(rows) for name, (at, rows) in held["sweeps"].items()},
            "quiet": timed(out / "quiet" / folder.name / "systems"),
            "before": json.loads(before.read_text("utf-8")) if before.exists() else {},
            "pairs": {f"{a} | {b}": paired(every[a][1], every[b][1]) for a, b in PAIRS if a in every and b in every},
        }
    return found


def read_all(folder):
    """Return the expression and the rows, in the order of the questions, of everything in a folder, by name."""
    held = {}
    for file in sorted(folder.glob("*.jsonl")):
        head, *rows = lines_of(file)
        if rows:
            each = {row["question"]: row for row in rows}.values()  # two runs at once may have asked the same
            held[head["name"]] = head["expression"], sorted(each, key=lambda row: row["at"])
    return held


def timed(folder):
    """Return the median times of each system in a folder of results, which a quiet machine made."""
    held = {name: rows for name, (_, rows) in (read_all(folder) if folder.exists() else {}).items()}
    return {
        name: {"questions": len(rows)}
        | {at: round(float(np.median([row[at]["ms"] for row in rows])), 2) for at in ("se", "pr") if rows[0][at]}
        for name, rows in held.items()
    }


def paired(ours, theirs):
    """Return the differences between two systems on the questions that both were asked, with p-values."""
    other = {row["question"]: row["pr"] for row in theirs}
    both = [(row["pr"], other[row["question"]]) for row in ours if row["question"] in other]
    found = {"questions": len(both)}
    for name in ("recall", "f1", "hits@1"):
        a, b = np.array([(one[name], two[name]) for one, two in both], float).T
        found[name] = [round(float((a - b).mean()), 4), round(paired_test(a, b), 4)]
    return found


def of_system(rows, common):
    """Return the means of a system, of all questions and of each kind of them; `common` are the first of all."""
    kinds = {f"hops {hops}": [row for row in rows if row["hops"] == hops] for hops in (1, 2, 3)}
    kinds |= {
        "one answer": [row for row in rows if row["answers"] == 1],
        "several answers": [row for row in rows if row["answers"] > 1],
        "common": rows[:common] if len(rows) >= common else [],
    }
    kinds |= {f"entities {n}": [row for row in rows if row["entities"] == n] for n in {row["entities"] for row in rows}}
    return means(rows) | {"by": {name: means(some, TOLD) for name, some in kinds.items() if some}}


def means(rows, told=None):
    """Return the means of all that is known of a system, with intervals, or of what is told of a kind of question."""
    values = {"questions": len(rows)}
    for module in ("se", "pr"):
        for name in rows[0][module] or ():
            each, key = np.array([row[module][name] for row in rows], float), f"{module} {name}"
            if told is None or key in told:
                values[key] = each.mean(axis=0).round(5).tolist()
            if name in ("ms", "cpu ms"):
                values[f"{key} p50"] = round(float(np.median(each)), 3)
            if told is None and name in ("recall", "f1", "hits@1"):
                values[f"{key} interval"] = [round(end, 4) for end in bootstrap_interval(each)]
    return values if told else values | {"load": round(float(np.median([row["load"] for row in rows])), 2)}


def of_sweep(rows):
    points = {}
    for size in rows[0]["points"]:
        held = [row["points"][size] for row in rows]
        points[size] = {name: round(float(np.mean([one[name] for one in held])), 5) for name in held[0]}
        points[size]["recall interval"] = [round(end, 4) for end in bootstrap_interval([one["recall"] for one in held])]
    cost = {name: round(float(np.mean([row[name] for row in rows])), 3) for name in COST}
    p50 = {f"{name} p50": round(float(np.median([row[name] for row in rows])), 3) for name in ("ms", "cpu ms")}
    return {"questions": len(rows), "points": points} | cost | p50


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", choices=SETS, default="metaqa")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--systems", nargs="*", default=[], help="names, or patterns of them")
    parser.add_argument("--sweeps", nargs="*", default=[], help="names, or patterns of them")
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=1e6, help="then no further question is begun")
    parser.add_argument("--workers", type=int, choices=(1, 2), default=2)
    parser.add_argument("--summary", type=Path, default=RESULTS / "lego.json")
    return parser.parse_args()


def main():
    given = arguments()
    todo, until = jobs(given), time.time() + 60 * given.minutes
    with ProcessPoolExecutor(given.workers, get_context("spawn"), max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(job, names, sweep, given, until) for names, sweep in todo]):
            print(done.result(), flush=True)
    given.summary.write_text(json.dumps(summarised(given.out), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
