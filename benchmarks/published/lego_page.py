"""Write the page of lego.py from its summary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from harness import Record, read_results, table, write_page
from stamps import RESULTS, states_in

PPR = RESULTS / "ppr.json"
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
the distribution of their scores (dynamic pruning), both by E, and V, T and P read next to nothing (see below). LSA and
LDA are statistical models, fitted to the texts of each question. F is E fine-tuned on training questions of the set by
`benchmarks/published/tune.py`, and G a cross-encoder made of the same base; both in float32. Of
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

## Accelerated extraction, MetaQA (Table 7)

`before`: seconds to prepare the graph, once. PPR needs nothing.

{accelerations}

Tables are made of one folder of rows, which calls of `benchmarks/published/lego.py` fill, in any order; each can be
interrupted and repeated, and each writes the summary anew. `benchmarks/all.py` has calls that fill all of it. The
figures of the paper, as tables with ours beside them, are in [papers-lego.md](papers-lego.md).

## Expressions

In every expression 128 paths are kept, of which the tables judge the first 32: the same as with `% 32`.

MetaQA:

{metaqa_expressions}
"""


SEARCHED = ("PPR", "PPR+TP-E", "PPR+TP-C")
"""Extractions on whose graphs the retrievals are compared."""
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
RETRIEVALS = ("SPR", "EPR", "OSAR-BM25", "OSAR-E", "OSAR-C", "ISAR-BM25", "ISAR-E", "ISAR-C")
OURS = ("OSAR-V", "OSAR-T", "OSAR-P", "ISAR-S", "ISAR-D", "ISAR-V", "ISAR-T", "ISAR-P")
STATISTICAL = ("OSAR-LSA", "OSAR-LDA", "ISAR-LSA", "ISAR-LDA")
TUNED = {"encoder": ("OSAR-F", "ISAR-F"), "cross-encoder": ("OSAR-G", "ISAR-G")}
OTHER_EXTRACTIONS = (
    *("RW", "KSE", "KSE-PPR", "communities", "PPR+NP-E", "PPR+EP-E"),
    *("PPR+TP-BM25", "PPR+TP-LSA", "PPR+TP-LDA"),
)


def cells() -> dict[tuple[str, str], str]:
    """Return the name of each cell of the map by its extraction and its retrieval, as `lego.cell` takes them."""
    pairs = [(extraction, retrieval) for extraction in SEARCHED for retrieval in RETRIEVALS]
    pairs += [("PPR", retrieval) for retrieval in (*OURS, *STATISTICAL, "OSAR/EPR-P")]
    pairs += [(extraction, "SPR") for extraction in OTHER_EXTRACTIONS]
    return {pair: " / ".join(pair) for pair in pairs}


JUDGES = ("BM25", "E", "C")
BEAMS = {"ISAR-S": "triple-level scoring", "ISAR-D": "dynamic pruning"}
PAIRS = (
    *((f"{se} / OSAR-{model}", f"{se} / ISAR-{model}") for se in SEARCHED for model in JUDGES),
    *((f"{se} / {pr}", f"{se} / SPR") for se in SEARCHED for pr in ("EPR", "OSAR-BM25", "ISAR-BM25")),
    *((f"{se} / {way}-{model}", f"{se} / SPR") for se in SEARCHED for way in ("OSAR", "ISAR") for model in ("E", "C")),
    *((f"{se} / {way}-C", f"{se} / {way}-E") for se in SEARCHED for way in ("OSAR", "ISAR")),
    *((f"lego-{a}", f"lego-{b}") for a, b in ((2, 6), (3, 6), (7, 6), (14, 15), (12, 1), (14, 1))),
    *((f"PPR / {way}", "PPR / ISAR-E") for way in BEAMS),
    *((f"PPR / {way}-{by}", f"PPR / {way}-E") for way in ("OSAR", "ISAR") for by in "VTPF"),
    *((f"PPR / {way}-G", f"PPR / {way}-{by}") for way in ("OSAR", "ISAR") for by in "CE"),
    *((f"PPR / {way}-{by}", f"PPR / {way}-BM25") for way in ("OSAR", "ISAR") for by in ("LSA", "LDA")),
)


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
    }
    return ABOUT.format(**{name: part.rstrip("\n") for name, part in parts.items()})


def write_lego(out: Path) -> None:
    """Write the page of the summary in a folder."""
    results = read_results(out / "lego.json")
    for of in results.values():
        of["systems"] |= {name: of["systems"][first] for name, first in of["called"].items()}
    write_page(out / "lego.md", page(results), states_in(out / "lego.json"))
