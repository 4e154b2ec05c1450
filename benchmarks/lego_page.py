"""The page and the figures of benchmarks/lego.py, of its summary.

    python benchmarks/lego_page.py

Reads benchmarks/results/lego.json; writes lego.md and the figures beside it. Needs the extra `bench` (matplotlib).
"""

import json
from collections import defaultdict
from pathlib import Path

from lego_figures import draw
from lego_findings import findings
from lego_systems import cells

RESULTS = Path(__file__).parent / "results"
ABOUT = """# Graph retrieval taken apart: LEGO-GraphRAG on knowledge graphs

What each module keeps of the answers, what is answered first, and what it costs, on MetaQA (films: 43,234 nodes,
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

A name "A / B" is extraction A with retrieval B, as `graphwright.methods.papers.lego.cell` takes them; what each is stands at
the end. Besides E, C and BM25, S scores the steps of a path one by one (triple-level scoring), D prunes beams by how
their scores lie (dynamic pruning), both by E, and V, T and P read next to nothing (see below). Of `rog`, `gsr`, `kelp`
and `tog` the language model is left out, and E or C is in its place.

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
both were (p: paired randomisation test). The words "holds here" follow from fixed rules, which
`benchmarks/lego_findings.py` has; of two systems a difference counts where p < 0.05.

{findings}

## Commands

Tables and figures are made of one folder of results, which these calls fill, in any order; each can be broken off and
begun again, and each writes the summary anew. The last makes this page and the figures.

{commands}

## What the names stand for

In every expression 128 paths are kept, of which the tables judge the first 32: the same as with `% 32`.

MetaQA:

{metaqa_expressions}
"""


COMMANDS = """\
    run="python benchmarks/lego.py --data DIR/kgqa --cache DIR --out DIR"
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
    run="$run/quiet --set metaqa --workers 1"
    $run --questions 20 --systems 'PPR / [SE]PR' 'PPR / [OI]SAR-[BVTP]*' 'PPR / OSAR/EPR-P' 'PPR+TP-E / *' rog gsr
    $run --questions 8 --systems 'PPR / [OI]SAR-[ECSD]'
    $run --questions 8 --systems 'PPR+TP-C / SPR' 'PPR+TP-C / [OI]SAR-[EC]'
    python benchmarks/lego_page.py"""


def table(header, rows):
    """Return a table; the first column is text, the others are numbers."""
    marks = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in (header, marks, *rows))


def percent(values, name):
    return "" if values.get(name) is None else f"{100 * values[name]:.1f}"


def within(values, name):
    """A mean in percent with its interval."""
    if values.get(name) is None:
        return ""
    low, high = values[f"{name} interval"]
    return f"{100 * values[name]:.1f} ({100 * low:.0f}–{100 * high:.0f})"


def number(values, name):
    value = values.get(name)
    return "" if value is None else f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def quality(systems):
    header = ("system", "questions", "SE precision", "SE recall", "SE F1", "nodes", "edges", "components")
    header += ("paths", "PR precision", "PR recall", "PR F1", "Hits@1")
    rows = []
    for name, held in systems.items():
        parts = [percent(held, f"se {part}") for part in ("precision", "recall", "f1")]
        parts += [number(held, f"se {part}") for part in ("nodes", "edges", "components")]
        parts += [
            number(held, "pr paths"),
            percent(held, "pr precision"),
            within(held, "pr recall"),
            within(held, "pr f1"),
        ]
        rows.append((name, held["questions"], *parts, within(held, "pr hits@1")))
    return table(header, rows)


def cost(systems):
    header = ("system", "SE ms", "PR ms", "SE CPU ms", "PR CPU ms", "SE texts", "PR texts", "SE tokens", "PR tokens")
    names = [f"{module} {what}" for what in ("ms p50", "cpu ms p50", "texts", "tokens") for module in ("se", "pr")]
    rows = [
        (name, *(number(held, of) for of in names), number(held, "pr peak MB"), f"{held['load']:.1f}")
        for name, held in systems.items()
    ]
    return table((*header, "peak MB", "load"), rows)


def kinds(systems, wanted, metric):
    header = ("system", *wanted)
    rows = [
        (name, *(percent(held["by"].get(kind, {}), metric) for kind in wanted))
        for name, held in systems.items()
        if len(held["by"]) > 1
    ]
    return table(header, rows)


def accelerations(held):
    header = ("extraction", "before, s", "questions", "ms", "CPU ms", "recall", "F1", "nodes", "edges", "components")
    rows = []
    for name, seconds in held["before"].items():
        one = held["systems"].get(name)
        if one is not None:
            shown = [number(one, of) for of in ("se ms p50", "se cpu ms p50")]
            shown += [within(one, "se recall"), f"{100 * one['se f1']:.2f}"]
            shown += [number(one, f"se {of}") for of in ("nodes", "edges", "components")]
            rows.append((name.removesuffix(" / SPR"), f"{seconds:.1f}", one["questions"], *shown))
    return table(header, rows)


def quiet(held):
    of = defaultdict(list)
    for name, at in held["called"].items():
        of[at].append(name.removeprefix("lego-"))
    header = ("system", "No.", "questions", "SE ms", "PR ms")
    return table(
        header,
        [
            (name, ", ".join(of[name]), one["questions"], number(one, "se"), number(one, "pr"))
            for name, one in held["quiet"].items()
        ],
    )


def scorers(held):
    header = ("system", "questions", "PR F1", "p", "Hits@1", "p", "texts read", "by E", "CPU ms", "by E")
    rows = []
    for pair, found in held["pairs"].items():
        name, other = pair.split(" | ")
        if name[-2:] in ("-V", "-T", "-P") and other[-2:] == "-E":
            told = [held["systems"][at][of] for of in ("pr texts", "pr cpu ms p50") for at in (name, other)]
            (f1, p), (hits, q) = found["f1"], found["hits@1"]
            shown = [f"{100 * f1:+.1f}", f"{p:.3f}", f"{100 * hits:+.1f}", f"{q:.3f}"]
            rows.append((name, found["questions"], *shown, *(f"{value:,.0f}" for value in told)))
    return table(header, rows)


def page(found):
    parts = {}
    for name, held in found.items():
        systems, key = held["systems"], name.replace("-", "_")
        instances = {f"{at}: {of}": systems[at] for at, of in held["called"].items()}
        others = {at: one for at, one in systems.items() if at not in (*held["called"], *held["called"].values())}
        parts |= {f"{key}_quality": quality(instances), f"{key}_cost": cost(instances)}
        parts |= {f"{key}_others": quality(others), f"{key}_others_cost": cost(others)}
        shown = [(at, f"`{one['expression']}`".replace("|", "\\|")) for at, one in systems.items()]
        parts[f"{key}_expressions"] = table(("system", "expression"), shown)
    systems = found["metaqa"]["systems"]
    common = {at: one["by"]["common"] for at, one in systems.items() if "common" in one["by"]}
    shown = [at for at in common if at not in found["metaqa"]["called"].values()]
    shown.sort(key=lambda at: not at.startswith("lego-"))
    parts["common"] = quality_common({at: common[at] for at in shown})
    every = ("hops 1", "hops 2", "hops 3", "one answer", "several answers")
    parts |= {"kinds_hits": kinds(systems, every, "pr hits@1"), "kinds_recall": kinds(systems, every, "pr recall")}
    parts["quiet"] = quiet(found["metaqa"])
    parts["scorers"] = scorers(found["metaqa"])
    parts["accelerations"] = accelerations(found["metaqa"])
    parts |= {"findings": findings(found), "commands": COMMANDS}
    return ABOUT.format(**parts)


def quality_common(systems):
    header = ("system", "questions", "SE recall", "SE F1", "PR recall", "PR F1", "Hits@1")
    names = ("se recall", "se f1", "pr recall", "pr f1", "pr hits@1")
    return table(header, [(at, one["questions"], *(percent(one, of) for of in names)) for at, one in systems.items()])


def main():
    found = json.loads((RESULTS / "lego.json").read_text("utf-8"))
    for held in found.values():
        held["systems"] |= {name: held["systems"][at] for name, at in held["called"].items()}
    draw(found, cells(), RESULTS)
    (RESULTS / "lego.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
