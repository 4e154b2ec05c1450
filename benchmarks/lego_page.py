"""Write the page and the figures of lego.py from its summary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from harness import Record, figure, shared_legend, table
from lego_findings import findings
from lego_systems import RETRIEVALS, cells

ABOUT = """# Graph retrieval taken apart: LEGO-GraphRAG on knowledge graphs

Answers that each module keeps, the first answer, and costs, on MetaQA (films: 43,234 nodes,
133,582 triples) and PathQuestion (pq-2h: 1,056 nodes, 1,211 triples; pql-2h: 5,034 and 4,247). Questions are drawn by
seed, from the development questions of MetaQA as many of one hop as of two and three together; the entities are those
given with them. Systems that read many texts were asked fewer questions, the first of the same order; how many stands
in each row, and the table of common questions compares all instances on the same ones.

- **SE** is the subgraph that extraction leaves, judged by the names of its nodes; **PR** the 32 best paths, judged
  by the names they lead to (query entities are no targets). Precision, recall and F1 are those of footnote 11, in
  percent, means over questions. An answer that the graph does not hold counts as not found: that is so for 16
  answers in pql-2h, and 6 % (pq-2h) and 29 % (pql-2h) of the questions have their own entity as an answer, which no
  path finds.
- F1 compares only what gives equally many paths: fewer mean more precision. A pruned graph often holds fewer than
  32, and two paths may lead to one name.
- **Hits@1**: whether the name that the first path leads to is an answer. There is no language model here: in the
  paper one reads all 32 paths and answers, so these are far lower than its figures and not to be compared with
  them.
- **E** is the embedded encoder, all-MiniLM-L6-v2, as in the paper. **C** is the embedded cross-encoder, in the
  place of the paper's language model L (and of its reranker): another model than E, trained on questions with
  passages and not with triples. Findings about language models are not testable here. E has the vectors of all
  triples and names, made beforehand as an index has them; C and BM25 read texts for each question.
- Brackets hold 95 % intervals (bootstrap over questions). Nodes, edges and components (weakly connected) are means.
- **ms** are medians by the clock on two cores which other work shared: `load` is the median load average meanwhile.
  **CPU ms** are medians of processor time over all threads, which other work changes less. Texts and tokens are
  what models read, means; `peak MB` is the highest memory of the process during retrieval, on the mean of
  questions. No graphics memory is used.

## The fifteen instances

SE/PR: 1 PPR + SPR; OSAR: 2 E/E, 3 E/L, 4 L/E, 5 L/L; ISAR: 6 E/E, 7 E/L, 8 L/E, 9 L/L; SPR: 10 E, 11 L; on plain PPR:
12 OSAR E, 13 OSAR L, 14 ISAR E, 15 ISAR L. **Offline L is the cross-encoder C.**

### MetaQA

{metaqa_quality}

{metaqa_cost}

Milliseconds by the clock, medians of a few questions that were asked again while nothing else ran, on two cores:

{quiet}

### MetaQA, the questions that all instances were asked

{common}

### PathQuestion, pq-2h

{pq_2h_quality}

{pq_2h_cost}

### PathQuestion, pql-2h

{pql_2h_quality}

{pql_2h_cost}

## Other cells of the map, published systems, and what is ours

A name "A / B" is extraction A with retrieval B, as `graphwright.methods.papers.lego.cell` takes them; their expressions
are at the end. Besides E, C and BM25, S scores the steps of a path one by one (triple-level scoring), D prunes beams by
the distribution of their scores (dynamic pruning), both by E, and V, T and P read next to nothing (see below). Of
`rog`, `gsr`, `kelp` and `tog` the language model is left out, and E or C is in its place.

### MetaQA

{metaqa_others}

{metaqa_others_cost}

### PathQuestion, pq-2h

{pq_2h_others}

{pq_2h_others_cost}

### PathQuestion, pql-2h

{pql_2h_others}

{pql_2h_others_cost}

### Scorers that read next to nothing

V: Composed from vectors of names and relations; T: Composed from vectors of triples; P: Patterns, the relations of a
path against the question, names masked. On PPR-1000 of MetaQA, against the same retrieval with every path read by E, in
points on the questions that both were asked, and by the processor:

{scorers}

## By kind of question, MetaQA

Every question has one query entity, so that nothing can be said about their number. Hits@1:

{kinds_hits}

PR recall:

{kinds_recall}

## Extraction: size against F1 and recall

Structure alone (Figure 8 of the paper). RW: all nodes that 1 to 3,000 walks of ten steps visit; KSE: one, two, three
hops; PPR: the 10 to 5,000 best nodes. The band is the recall of 60 % that the paper asks for.

![F1 and recall against size, by structure](lego-8.png)

Pruning of PPR-1000 by a model (Figure 9): the 8 to 1,024 best nodes (NP, with the query entities), edges by their
relation (EP, those of one relation by the traffic of the PPR walk), or triples (TP).
Most questions share no word with a relation, so that EP by BM25 is the order of that walk.

![F1 and recall against size, by model](lego-9.png)

## Retrieval

F1 of the 32 best paths in the graphs of three extractions (Figure 11), and F1 against the number of paths (Figure 12;
a beam search gives 8 paths of each of 4 lengths).

![F1 of retrieval methods](lego-11.png)

![F1 against the number of paths](lego-12.png)

## Accelerated extraction, MetaQA (Table 7)

`before`: seconds to prepare the graph, once. PPR needs nothing.

{accelerations}

## Findings of the paper

By the figures of MetaQA; instances are compared on the questions that all were asked, pairs of systems on those that
both were (p: paired randomisation test). The words "holds here" follow from the fixed rules in
`benchmarks/lego_findings.py`; of two systems a difference counts where p < 0.05.

{findings}

## Commands

Tables and figures are made of one folder of results, which these calls fill, in any order; each can be broken off and
begun again, and each writes the summary anew. The last makes this page and the figures.

{commands}

## Expressions

In every expression 128 paths are kept, of which the tables judge the first 32: the same as with `% 32`.

MetaQA:

{metaqa_expressions}
"""


COMMANDS = """\
    run="python benchmarks/lego.py --data DIR"
    $run --set metaqa --questions 1000 --systems 'PPR / [SE]PR' 'PPR / [OI]SAR-[BVTP]*' 'PPR / OSAR/EPR-P' \\
        'PPR+TP-E / [SE]PR' 'PPR+TP-E / *BM25' rog gsr --sweeps 'TP by E'
    $run --set metaqa --questions 300 --systems 'PPR+TP-E / *' 'RW / *' 'KSE*' 'comm*' '* by vectors*' 'PPR+[NE]*' \\
        'PPR+TP-B*' --sweeps 'RW*' PPR 'KSE*' 'EP by *' 'TP by B*' 'NP by [BE]*'
    $run --set metaqa --questions 120 --minutes 40 --systems 'PPR / [OI]SAR-[ECSD]' 'PPR+TP-C / SPR' \\
        'PPR+TP-C / OSAR-*' 'PPR+TP-C / ISAR-[EC]' --sweeps 'TP by C'
    $run --set metaqa --questions 60 --systems kelp tog 'rog by C' --sweeps 'NP by C'
    for set in pq-2h pql-2h; do
        $run --set $set --questions 300 --systems 'PPR / SPR' 'PPR / [OI]SAR-[BVTP]*' 'PPR+TP-E / SPR' rog gsr
        $run --set $set --questions 200 --sweeps PPR 'RW*' 'KSE*'
        $run --set $set --questions 100 --systems 'PPR+TP-E / [OI]SAR-[EC]'
    done
    $run --set pq-2h --questions 20 --minutes 9 --systems 'PPR / [OI]SAR-[EC]' 'PPR+TP-C / SPR' \\
        'PPR+TP-C / [OI]SAR-[EC]'
    run="$run --quiet --set metaqa --workers 1"
    $run --questions 20 --systems 'PPR / [SE]PR' 'PPR / [OI]SAR-[BVTP]*' 'PPR / OSAR/EPR-P' 'PPR+TP-E / *' rog gsr
    $run --questions 8 --systems 'PPR / [OI]SAR-[ECSD]'
    $run --questions 8 --systems 'PPR+TP-C / SPR' 'PPR+TP-C / [OI]SAR-[EC]'
    python benchmarks/lego.py --data DIR --page"""

MODELS = {"BM25": "#7f7f7f", "E": "#1f77b4", "C": "#d62728", "P": "#2ca02c"}
OURS_SHOWN = ("OSAR-P", "ISAR-P")
PRUNINGS = {"NP": ("nodes", ":"), "EP": ("relations", "--"), "TP": ("triples", "-")}
STRUCTURE = {
    "RW": ("#ff7f0e", "-", "RW: all that 1 to 3,000 random walks visit"),
    "KSE": ("#2ca02c", "-", "KSE: one, two and three hops"),
    "PPR": ("#9467bd", "-", "PPR: the best by personalised PageRank"),
    "RW-cut": ("#000000", ":", "the most visited of 20,000 walks"),
}
SEARCHED = {
    "PPR": ("PPR-1000", "#9467bd"),
    "PPR+TP-E": ("64 triples of it by E", "#1f77b4"),
    "PPR+TP-C": ("64 triples of it by C", "#d62728"),
}
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
ENOUGH = 60  # percent of the answers that a subgraph has to hold, section 4.1


def label_pair(panels: Any, title: str) -> None:
    """Label the panels of F1 and of recall."""
    for panel, up in zip(panels, ("F1, %", "recall, %"), strict=True):
        panel.set(xlabel="nodes of the subgraph, mean", ylabel=up, xscale="log")
        panel.set_title(title, fontsize=9)
        panel.grid(alpha=0.3)
    panels[1].axhline(ENOUGH, color="gold", linewidth=6, alpha=0.4, zorder=0)
    panels[1].set_ylim(0, 103)


def draw_curve(panels: Any, points: Iterable[Record], **look: Any) -> None:
    """Draw F1 and recall against the size."""
    ordered = sorted(points, key=lambda point: point["nodes"])
    for panel, name in zip(panels, ("f1", "recall"), strict=True):
        panel.plot([p["nodes"] for p in ordered], [100 * p[name] for p in ordered], marker=".", **look)


def draw_structures(path: Path, results: Record) -> None:
    """Draw figure 8, a row for each set."""
    sets = {name: of["sweeps"] for name, of in results.items() if "PPR" in of["sweeps"]}
    with figure(path, len(sets), 2, (9, 3.1 * len(sets) + 0.5)) as (drawn, rows):
        for (name, sweeps), panels in zip(sets.items(), rows, strict=True):
            label_pair(panels, f"{name}, {sweeps['PPR']['questions']} questions")
            for method, (colour, line, label) in STRUCTURE.items():
                sizes = [sweep["points"].values() for at, sweep in sweeps.items() if at.split(" ")[0] == method]
                points = [point for some in sizes for point in some]
                draw_curve(panels, points, color=colour, linestyle=line, label=label)
        shared_legend(drawn, rows[0, 0], 2)


def draw_models(path: Path, results: Record) -> None:
    """Draw figure 9: PPR-1000 after pruning of nodes, relations or triples by each model."""
    sweeps, counts = results["metaqa"]["sweeps"], set()
    with figure(path, 1, 2, (9.5, 4.2)) as (drawn, panels):
        for (pruning, (what, line)), model in product(PRUNINGS.items(), ("BM25", "E", "C")):
            sweep = sweeps.get(f"{pruning} by {model}")
            if sweep is not None:
                counts.add(sweep["questions"])
                label = f"{pruning} ({what}) by {model}"
                draw_curve(panels[0], sweep["points"].values(), color=MODELS[model], linestyle=line, label=label)
        label_pair(panels[0], f"metaqa, {min(counts)} to {max(counts)} questions")
        shared_legend(drawn, panels[0, 0], 3)


def draw_retrievals(path: Path, results: Record) -> None:
    """Draw figure 11: F1 of 32 paths for each retrieval, on the graphs of three extractions."""
    systems, names = results["metaqa"]["systems"], cells()
    with figure(path, 1, 1, (10, 3.9)) as (drawn, panels):
        panel = panels[0, 0]
        for at, (searched, (label, colour)) in enumerate(SEARCHED.items()):
            of = [(i, systems.get(names.get((searched, retrieval)))) for i, retrieval in enumerate(RETRIEVALS)]
            measured = [(i + 0.27 * (at - 1), system) for i, system in of if system is not None]
            if not measured:
                continue
            high = np.array([100 * system["pr f1"] for _, system in measured])
            ends = 100 * np.array([system["pr f1 interval"] for _, system in measured])
            places, spread = [place for place, _ in measured], np.abs(ends.T - high)
            panel.bar(places, high, 0.25, color=colour, label=label, yerr=spread, ecolor="#444444", capsize=2)
            for (place, system), end in zip(measured, ends[:, 1], strict=True):
                panel.text(place, end + 0.4, system["questions"], ha="center", fontsize=6.5, color="#555555")
        panel.set_xticks(range(len(RETRIEVALS)), [name.replace("-", "\n") for name in RETRIEVALS], fontsize=8)
        panel.set_ylabel("F1 of 32 paths, %")
        panel.set_title("metaqa; over the bars the number of questions, lines are 95 % intervals", fontsize=9)
        panel.grid(alpha=0.3, axis="y")
        panel.set_axisbelow(True)
        shared_legend(drawn, panel, 3)


def draw_path_counts(path: Path, results: Record) -> None:
    """Draw figure 12: F1 against the number of paths, on PPR-1000."""
    systems = results["metaqa"]["systems"]
    with figure(path, 1, 1, (7.6, 4.4)) as (drawn, panels):
        panel = panels[0, 0]
        for (searched, retrieval), name in cells().items():
            if searched == "PPR" and name in systems and retrieval in (*RETRIEVALS, *OURS_SHOWN):
                along = np.array(systems[name]["pr f1 by paths"])
                # Beyond the number of paths that a beam search gives the curve is flat.
                last = max(i for i in range(len(along)) if not i or along[i] != along[i - 1]) + 1
                label = f"{retrieval} ({systems[name]['questions']})"
                panel.plot(COUNTS[:last], 100 * along[:last], marker=".", label=label, **look(retrieval))
        panel.set(xlabel="paths", ylabel="F1, %", xscale="log")
        panel.set_xticks(COUNTS, COUNTS)
        panel.minorticks_off()
        panel.set_title("metaqa, paths in PPR-1000; in brackets the number of questions", fontsize=9)
        panel.grid(alpha=0.3)
        shared_legend(drawn, panel, 3)


def look(retrieval: str) -> Record:
    """Return the colour by model, and the line by method."""
    method, _, by = retrieval.partition("-")
    colour = MODELS.get(by, "#222222" if method == "SPR" else "#8c564b")
    return {"color": colour, "linestyle": "-" if method in ("SPR", "OSAR") else "--"}


FIGURES: Mapping[str, Callable[[Path, Record], None]] = {
    "lego-8.png": draw_structures,
    "lego-9.png": draw_models,
    "lego-11.png": draw_retrievals,
    "lego-12.png": draw_path_counts,
}


def share(values: Record, name: str) -> str:
    """Return a value in percent; nothing where there is none."""
    return "" if values.get(name) is None else f"{100 * values[name]:.1f}"


def within(values: Record, name: str) -> str:
    """Return a mean in percent with its interval."""
    if values.get(name) is None:
        return ""
    low, high = values[f"{name} interval"]
    return f"{100 * values[name]:.1f} ({100 * low:.0f}–{100 * high:.0f})"


def number(values: Record, name: str) -> str:
    """Return a number with about two digits."""
    value = values.get(name)
    return "" if value is None else f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def quality(systems: Record) -> str:
    """Return the table of quality."""
    header = ["system", "questions", "SE precision", "SE recall", "SE F1", "nodes", "edges", "components"]
    header += ["paths", "PR precision", "PR recall", "PR F1", "Hits@1"]
    rows = []
    for name, values in systems.items():
        cells = [share(values, f"se {part}") for part in ("precision", "recall", "f1")]
        cells += [number(values, f"se {part}") for part in ("nodes", "edges", "components")]
        cells += [number(values, "pr paths"), share(values, "pr precision")]
        cells += [within(values, f"pr {part}") for part in ("recall", "f1", "hits@1")]
        rows.append((name, values["questions"], *cells))
    return table(header, rows)


def cost(systems: Record) -> str:
    """Return the table of costs."""
    header = ("system", "SE ms", "PR ms", "SE CPU ms", "PR CPU ms", "SE texts", "PR texts", "SE tokens", "PR tokens")
    names = [f"{module} {what}" for what in ("ms p50", "cpu ms p50", "texts", "tokens") for module in ("se", "pr")]
    rows = [
        (name, *(number(of, key) for key in names), number(of, "pr peak MB"), f"{of['load']:.1f}")
        for name, of in systems.items()
    ]
    return table((*header, "peak MB", "load"), rows)


def kinds(systems: Record, names: Sequence[str], metric: str) -> str:
    """Return a metric by kind of question."""
    rows = [
        (name, *(share(values["by"].get(kind, {}), metric) for kind in names))
        for name, values in systems.items()
        if len(values["by"]) > 1
    ]
    return table(("system", *names), rows)


def accelerations(of: Record) -> str:
    """Return the table of prepared extractions."""
    header = ("extraction", "before, s", "questions", "ms", "CPU ms", "recall", "F1", "nodes", "edges", "components")
    rows = []
    for name, seconds in of["before"].items():
        values = of["systems"].get(name)
        if values is not None:
            cells = [number(values, key) for key in ("se ms p50", "se cpu ms p50")]
            cells += [within(values, "se recall"), f"{100 * values['se f1']:.2f}"]
            cells += [number(values, f"se {key}") for key in ("nodes", "edges", "components")]
            rows.append((name.removesuffix(" / SPR"), f"{seconds:.1f}", values["questions"], *cells))
    return table(header, rows)


def quiet(of: Record) -> str:
    """Return the times of a quiet machine."""
    numbers = defaultdict(list)
    for name, first in of["called"].items():
        numbers[first].append(name.removeprefix("lego-"))
    rows = [
        (name, ", ".join(numbers[name]), values["questions"], number(values, "se"), number(values, "pr"))
        for name, values in of["quiet"].items()
    ]
    return table(("system", "No.", "questions", "SE ms", "PR ms"), rows)


def scorers(of: Record) -> str:
    """Return the table of scorers that read next to nothing."""
    header = ("system", "questions", "PR F1", "p", "Hits@1", "p", "texts read", "by E", "CPU ms", "by E")
    rows = []
    for pair, differences in of["pairs"].items():
        name, other = pair.split(" | ")
        if name[-2:] in ("-V", "-T", "-P") and other[-2:] == "-E":
            costs = [of["systems"][at][key] for key in ("pr texts", "pr cpu ms p50") for at in (name, other)]
            (f1, p), (hits, q) = differences["f1"], differences["hits@1"]
            cells = [f"{100 * f1:+.1f}", f"{p:.3f}", f"{100 * hits:+.1f}", f"{q:.3f}"]
            rows.append((name, differences["questions"], *cells, *(f"{value:,.0f}" for value in costs)))
    return table(header, rows)


def common(systems: Record) -> str:
    """Return the table of the questions that all instances were asked."""
    header = ("system", "questions", "SE recall", "SE F1", "PR recall", "PR F1", "Hits@1")
    names = ("se recall", "se f1", "pr recall", "pr f1", "pr hits@1")
    return table(header, [(at, of["questions"], *(share(of, name) for name in names)) for at, of in systems.items()])


def page(results: Record) -> str:
    """Return the page."""
    parts: dict[str, str] = {}
    for name, of in results.items():
        systems, key = of["systems"], name.replace("-", "_")
        instances = {f"{at}: {first}": systems[at] for at, first in of["called"].items()}
        others = {at: values for at, values in systems.items() if at not in {*of["called"], *of["called"].values()}}
        parts |= {f"{key}_quality": quality(instances), f"{key}_cost": cost(instances)}
        parts |= {f"{key}_others": quality(others), f"{key}_others_cost": cost(others)}
        expressions = [(at, f"`{v['expression']}`".replace("|", "\\|")) for at, v in systems.items()]
        parts[f"{key}_expressions"] = table(("system", "expression"), expressions)
    metaqa = results["metaqa"]
    systems = metaqa["systems"]
    shared = {at: v["by"]["common"] for at, v in systems.items() if "common" in v["by"]}
    shown = sorted(set(shared) - set(metaqa["called"].values()), key=list(shared).index)
    shown.sort(key=lambda at: not at.startswith("lego-"))
    every = ("hops 1", "hops 2", "hops 3", "one answer", "several answers")
    parts |= {
        "common": common({at: shared[at] for at in shown}),
        "kinds_hits": kinds(systems, every, "pr hits@1"),
        "kinds_recall": kinds(systems, every, "pr recall"),
        "quiet": quiet(metaqa),
        "scorers": scorers(metaqa),
        "accelerations": accelerations(metaqa),
        "findings": findings(results),
        "commands": COMMANDS,
    }
    return ABOUT.format(**{name: part.rstrip("\n") for name, part in parts.items()})


def write_page(results: Record, out: Path) -> None:
    """Write the page and the figures of a summary."""
    for of in results.values():
        of["systems"] |= {name: of["systems"][first] for name, first in of["called"].items()}
    for name, draw in FIGURES.items():
        draw(out / name, results)
    (out / "lego.md").write_text(page(results), encoding="utf-8")
