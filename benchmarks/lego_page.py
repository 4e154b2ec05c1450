"""Write the page and the figures of lego.py from its summary, each finding of the paper compared with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from harness import Record, figure, read_results, shared_legend, table, write_page
from stamps import RESULTS, states_in, together

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
`benchmarks/tune.py`, and G a cross-encoder made of the same base; both in float32. Of
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
`benchmarks/lego_page.py`; of two systems a difference counts where p < 0.05.

{findings}

Tables and figures are made of one folder of rows, which calls of `benchmarks/lego.py` fill, in any order; each can be
interrupted and repeated, and each writes the summary anew. `benchmarks/all.py` has calls that fill all of it.

## Expressions

In every expression 128 paths are kept, of which the tables judge the first 32: the same as with `% 32`.

MetaQA:

{metaqa_expressions}
"""


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


# Findings of the paper

Verdict = tuple[str, str]
"""Whether a finding holds, and the measurements that say so."""
GROUPS = {
    "I": (1,),
    "II": (2, 3, 4, 5, 6, 7, 8, 9),
    "III": (10, 11),
    "IV": (12, 13, 14, 15),
}
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
OWN = " Each instance over all questions that it was asked."
HOLDS, NOT, PARTLY, UNTESTED = "Holds here.", "Does not hold here.", "Holds in part.", "Not testable here."


class Measured:
    """The summary of a set, in percent and milliseconds."""

    def __init__(self, results: Record) -> None:
        self.systems, self.sweeps, self.pairs = results["systems"], results["sweeps"], results["pairs"]
        self.common = {name: of["by"]["common"] for name, of in self.systems.items() if "common" in of["by"]}

    def of(self, number: int, metric: str = "pr hits@1") -> float:
        """Return an instance's mean over the questions that all instances were asked."""
        return 100 * float(self.common[f"lego-{number}"][metric])

    def group(self, numbers: Sequence[int], metric: str = "pr hits@1") -> float:
        """Return the mean of several instances."""
        return float(np.mean([self.of(number, metric) for number in numbers]))

    def difference(self, a: str, b: str, metric: str = "f1") -> tuple[float, float]:
        """Return the difference of two systems in points, and its p value."""
        difference, p = self.pairs[f"{a} | {b}"][metric]
        return 100 * difference, p

    def differences(self, pairs: Mapping[str, tuple[str, str]], metric: str = "f1") -> dict[str, tuple[float, float]]:
        """Return the differences of those pairs that were measured, by name."""
        return {name: self.difference(a, b, metric) for name, (a, b) in pairs.items() if f"{a} | {b}" in self.pairs}

    def kind(self, name: str, kind: str, metric: str = "pr hits@1") -> float:
        """Return a system's mean over one kind of question."""
        return 100 * float(self.systems[name]["by"][kind][metric])

    def line(self, prefix: str) -> list[Record]:
        """Return the points of all sweeps whose name begins so, by size."""
        sweeps = [sweep for name, sweep in self.sweeps.items() if name.split(" ")[0] == prefix]
        return sorted((p for sweep in sweeps for p in sweep["points"].values()), key=lambda point: point["nodes"])


def at_size(points: Sequence[Record], size: float, metric: str) -> float:
    """Return the value of a curve at a size, between points by the logarithm of the size."""
    sizes = np.log([point["nodes"] for point in points])
    return float(np.interp(np.log(size), sizes, [100 * point[metric] for point in points]))


def verdict(*conditions: Any) -> str:
    """Return whether all, some or none of the conditions hold."""
    return HOLDS if all(conditions) else PARTLY if any(conditions) else NOT


def listed(values: Iterable[Any], form: str = "{:.1f}") -> str:
    """Return values as text."""
    return ", ".join(form.format(value) for value in values)


def differing(rows: Mapping[str, tuple[float, float]]) -> str:
    """Return named differences in points with their p values as text."""
    return ", ".join(f"{name} {d:+.1f} (p {p:.3f})" for name, (d, p) in rows.items())


def certain(rows: Mapping[str, tuple[float, float]]) -> list[bool]:
    """Return for each difference whether it is positive with p < 0.05."""
    return [d > 0 and p < 0.05 for d, p in rows.values()]


def numbers(given: Sequence[int]) -> str:
    """Return the numbers of instances as text."""
    return f"No. {', '.join(map(str, given))}" if given else "none"


def shown(values: Mapping[str, float]) -> str:
    """Return named values as text."""
    return ", ".join(f"{name} {value:.1f}" for name, value in values.items())


def extraction(m: Measured, names: Sequence[str], checks: Callable[[Record, Record], tuple[bool, ...]]) -> Verdict:
    """Compare extractions with PPR, in time and by the checks."""
    ppr, own = m.systems["lego-1"], [(name, m.systems[name]) for name in names if name in m.systems]
    text = "; ".join(
        f"{name.removesuffix(' / SPR')} {of['se cpu ms p50']:.0f} CPU ms, recall {100 * of['se recall']:.1f} %, "
        f"{of['se nodes']:,.0f} nodes, {of['se components']:.1f} components"
        for name, of in (*own, ("PPR", ppr))
    )
    conditions = [c for _, of in own for c in (of["se cpu ms p50"] < ppr["se cpu ms p50"], *checks(of, ppr))]
    return verdict(*conditions), text + "."


FINDINGS: list[tuple[str, str, Callable[[Measured], Verdict]]] = []


def finding(place: str, claim: str) -> Callable[[Callable[[Measured], Verdict]], Callable[[Measured], Verdict]]:
    """Add a finding of the paper, with the function that judges it."""

    def add(judge: Callable[[Measured], Verdict]) -> Callable[[Measured], Verdict]:
        FINDINGS.append((place, claim, judge))
        return judge

    return add


def untested(place: str, claim: str, reason: str = "No language model.") -> None:
    """Add a finding that cannot be tested here."""
    FINDINGS.append((place, claim, lambda m: (UNTESTED, reason)))


@finding("4.2 a.1", "Structure in both modules (No. 1) is the weakest instance.")
def instances_one(m: Measured) -> Verdict:
    hits, f1 = ({n: m.of(n, metric) for n in range(1, 16)} for metric in ("pr hits@1", "pr f1"))
    below, lower = ([n for n in values if values[n] < values[1]] for values in (hits, f1))
    text = f"Hits@1 of No. 1 is {hits[1]:.1f} %, PR F1 {f1[1]:.1f} %; lower in Hits@1 are {numbers(below)}, "
    return verdict(not below, not lower), text + f"lower in F1 {numbers(lower)}."


@finding("4.2 a.2", "With models in both modules, extract by an encoder rather than an LLM, which prunes too much.")
def encoders_extract(m: Measured) -> Verdict:
    e, c = (m.group(of) for of in ((2, 3, 6, 7), (4, 5, 8, 9)))
    recall = [m.of(n, "se recall") for n in (2, 4)]
    return UNTESTED, (
        f"No language model. With C in its place: mean Hits@1 of No. 2, 3, 6, 7 (by E) {e:.1f} %, of No. 4, 5, 8, 9 "
        f"(by C) {c:.1f} %; of the answers the subgraph holds {recall[0]:.1f} % by E and {recall[1]:.1f} % by C, of "
        f"{m.of(1, 'se recall'):.1f} % before pruning, so either model prunes away what paths need."
    )


@finding("4.2 a.2", "Extraction by an encoder with OSAR (No. 2 and 3) is the best combination.")
def best_two(m: Measured) -> Verdict:
    hits = sorted(range(1, 16), key=lambda n: -m.of(n))
    f1 = sorted(range(1, 16), key=lambda n: -m.of(n, "pr f1"))
    firsts = [f"No. {n} ({m.of(n):.1f})" for n in hits[:4]], [f"No. {n} ({m.of(n, 'pr f1'):.1f})" for n in f1[:4]]
    text = f"Best in Hits@1: {', '.join(firsts[0])}; in PR F1: {', '.join(firsts[1])}."
    return verdict({2, 3} <= set(hits[:3]), {2, 3} <= set(f1[:3])), text


@finding("4.2 a.2", "Of those that extract by an encoder, No. 6 (beam search by an encoder) is the worst.")
def six_worst(m: Measured) -> Verdict:
    rows = {f"No. {n}": m.difference(f"lego-{n}", "lego-6", "hits@1") for n in (2, 3, 7)}
    text = f"Hits@1 against No. 6, in points on the questions that both were asked: {differing(rows)}. "
    return verdict(*certain(rows)), text + "That beams fit LLMs: not testable."


@finding("4.2 a.2", "Triple-level scoring and dynamic pruning help beam search by an encoder.")
def beams_mended(m: Measured) -> Verdict:
    pairs = {name: (f"PPR / {way}", "PPR / ISAR-E") for way, name in BEAMS.items()}
    f1, hits = m.differences(pairs), m.differences(pairs, "hits@1")
    if len(f1) < len(pairs):
        return UNTESTED, "Not measured."
    text = f"Against beam search by E on PPR-1000, in points of PR F1: {differing(f1)}; of Hits@1: {differing(hits)}."
    return verdict(*certain(f1)), text


@finding("4.2 a.3", "If one module has a model, let it be retrieval: group IV is better than group III.")
def retrieval_first(m: Measured) -> Verdict:
    hits, f1 = ([m.group(GROUPS[g], metric) for g in ("IV", "III")] for metric in ("pr hits@1", "pr f1"))
    text = (
        f"Mean Hits@1 of group IV {hits[0]:.1f} %, of group III {hits[1]:.1f} %; PR F1 {f1[0]:.1f} and {f1[1]:.1f} %."
    )
    return verdict(hits[0] > hits[1], f1[0] > f1[1]), text


@finding("4.2 a.3", "Models in both modules (group II) are not always better than in one.")
def both_not_needed(m: Measured) -> Verdict:
    two, rest = [m.of(n) for n in GROUPS["II"]], [m.of(n) for n in (*GROUPS["III"], *GROUPS["IV"])]
    text = f"Hits@1 of group II: {min(two):.1f} to {max(two):.1f} %; of groups III and IV: {min(rest):.1f} to "
    return verdict(min(two) < max(rest)), text + f"{max(rest):.1f} %."


@finding("4.2 a.3", "On MetaQA all instances score high, and No. 14 is about as good as No. 15.")
def high_on_metaqa(m: Measured) -> Verdict:
    hits = [m.of(n) for n in range(1, 16)]
    d, p = m.difference("lego-14", "lego-15", "hits@1")
    text = f"Hits@1 is {min(hits):.1f} to {max(hits):.1f} %: in the paper an LLM answers from 32 paths, here the first "
    text += f"path answers. No. 14 against No. 15: {d:+.1f} points (p {p:.3f}), with C."
    return verdict(min(hits) > 80, d > 0 or p >= 0.05), text


@finding("4.2 b", "Extraction takes most of the time in every instance.")
def bottleneck(m: Measured) -> Verdict:
    extraction, retrieval = (
        {n: m.common[f"lego-{n}"][f"{at} cpu ms p50"] for n in range(1, 16)} for at in ("se", "pr")
    )
    slower = [n for n in extraction if extraction[n] > retrieval[n]]
    text = f"In processor time the extraction takes longer than the retrieval in {numbers(slower)}: in No. 1 "
    text += f"{extraction[1]:.0f} ms against {retrieval[1]:.1f}. Where a model reads paths of PPR-1000 (No. 12 to 15), "
    text += f"{listed([retrieval[n] for n in (12, 13, 14, 15)], '{:,.0f}')} ms go into the retrieval."
    return verdict(len(slower) == 15, 1 in slower), text


untested(
    "4.2 b",
    "Retrieval by an LLM, beam search above all, takes a minute or two.",
    "No language model; what C costs in its place is in the tables.",
)


@finding(
    "4.2 c", "Instances with two kinds of model read more tokens than those with one; encoders alone are cheapest."
)
def tokens(m: Measured) -> Verdict:
    def total(n: int) -> float:
        return float(m.common[f"lego-{n}"]["se tokens"] + m.common[f"lego-{n}"]["pr tokens"])

    mixed, same = np.mean([total(n) for n in (3, 4, 7, 8)]), np.mean([total(n) for n in (2, 5, 6, 9)])
    only = np.mean([total(n) for n in (2, 6)])
    text = f"Tokens read for a question: mixed {mixed:,.0f}, one model {same:,.0f}, only E {only:,.0f}. "
    text += "Vectors of triples are known beforehand here, so that E reads little; graphics memory is not used."
    return verdict(mixed > 1.02 * same, only < min(mixed, same)), text


@finding("4.2 d", "Quality falls with the hops.")
def hops(m: Measured) -> Verdict:
    names = {n: m.systems[f"lego-{n}"] for n in range(1, 16)}
    rows = {n: [m.kind(f"lego-{n}", f"hops {h}") for h in (1, 2, 3)] for n in names}
    falling = [n for n, row in rows.items() if row[0] > max(row[1:])]
    text = f"Hits@1 at 1, 2 and 3 hops: No. 1 {listed(rows[1])}; No. 12 {listed(rows[12])}; No. 6 {listed(rows[6])} %. "
    text += f"Highest at one hop in {len(falling)} of 15."
    return verdict(len(falling) > 12), text + OWN


@finding("4.2 d", "Quality falls from one answer to several, less where models take part.")
def several(m: Measured) -> Verdict:
    rows = {n: [m.kind(f"lego-{n}", k, "pr recall") for k in ("one answer", "several answers")] for n in range(1, 16)}
    falling = [n for n, (single, more) in rows.items() if single > more]
    loss = {n: single - more for n, (single, more) in rows.items()}
    meaning = np.mean([loss[n] for n in range(2, 16)])
    text = f"PR recall is lower for several answers in {len(falling)} of 15 (No. 1: {listed(rows[1])} %; No. 12: "
    text += f"{listed(rows[12])} %); it falls by {loss[1]:.1f} points in No. 1, by {meaning:.1f} on the mean of the "
    text += "others. Several answers go with more hops here." + OWN
    return verdict(len(falling) > 12, loss[1] > meaning), text


untested(
    "4.2 d", "Quality rises with the number of query entities.", "Every question of these sets has one query entity."
)


untested("4.2 e", "Summaries of communities beside the paths help small LLMs.")


@finding("4.3", "Structure-based extraction: F1 falls and recall rises with the size.")
def sizes(m: Measured) -> Verdict:
    checks, texts = [], []
    for name in ("PPR", "RW"):
        points = m.line(name)
        checks.append(all(b["recall"] >= a["recall"] - 1e-9 for a, b in pairwise(points)))
        best = max(range(len(points)), key=lambda i: points[i]["f1"])
        checks.append(all(b["f1"] <= a["f1"] + 1e-9 for a, b in pairwise(points[best:])) and best < len(points) / 2)
        ends = points[0], points[best], points[-1]
        shown = [f"{p['nodes']:,.0f} nodes F1 {100 * p['f1']:.1f}, recall {100 * p['recall']:.1f}" for p in ends]
        texts.append(f"{name}: {'; '.join(shown)}")
    return verdict(*checks), "In percent at the smallest, the best and the largest size. " + ". ".join(texts) + "."


@finding("4.3", "PPR is better than random walks at all sizes; walks stay below a recall of 60 %.")
def ppr_over_walks(m: Measured) -> Verdict:
    walks, ppr = m.line("RW"), m.line("PPR")
    there = [p for p in walks if ppr[0]["nodes"] <= p["nodes"] <= ppr[-1]["nodes"]]
    recall = [at_size(ppr, p["nodes"], "recall") - 100 * p["recall"] for p in there]
    f1 = [at_size(ppr, p["nodes"], "f1") - 100 * p["f1"] for p in there]
    best, cut = (max((100 * p["recall"] for p in points), default=0) for points in (walks, m.line("RW-cut")))
    text = f"At the sizes of the walks PPR has {min(recall):+.1f} to {max(recall):+.1f} points of recall and "
    text += f"{min(f1):+.1f} to {max(f1):+.1f} of F1 more. Walks reach a recall of {best:.1f} %, and {cut:.1f} % where "
    text += "the most visited nodes of 20,000 walks are kept."
    return verdict(min(recall) > 0 and min(f1) > 0, best < 60), text


@finding("4.3", "The size of PPR's subgraph can be chosen, that of k hops cannot.")
def flexible(m: Measured) -> Verdict:
    points = m.line("KSE")
    text = f"One, two and three hops hold {listed([p['nodes'] for p in points], '{:,.0f}')} nodes on the mean, with a "
    text += f"recall of {listed([100 * p['recall'] for p in points])} %, and nothing lies between; PPR is cut anywhere."
    return HOLDS, text


@finding("4.3", "PPR is too slow for large graphs.")
def ppr_cost(m: Measured) -> Verdict:
    measured = read_results(PPR)
    rows = [row for row in measured if row["k"] == 1000 and row["nodes"] >= 1_000_000]
    text = f"PPR takes {m.systems['lego-1']['se cpu ms p50']:.0f} ms of processor time here."
    if rows:
        large = max(rows, key=lambda row: row["nodes"])
        text += f" On {large['nodes']:,} nodes and {large['edges']:,} edges it takes {large['p50_ms']:.0f} ms with a "
        text += f"recall of {large['recall']:.3f} of the exact best {large['k']:,} (`ppr.json`)."
    return NOT, text


@finding("4.3", "Pruning by an encoder or a reranker is far better than by BM25.")
def models_over_words(m: Measured) -> Verdict:
    rows = []
    for pruning in ("NP", "EP", "TP"):
        sweeps = [m.sweeps.get(f"{pruning} by {model}") for model in JUDGES]
        if None not in sweeps:
            recalls = [100 * sweep["points"]["64"]["recall"] for sweep in sweeps]
            rows.append((pruning, recalls, [sweep["questions"] for sweep in sweeps]))
    text = "; ".join(f"{pruning} {listed(values)} % ({listed(n, '{:d}')} questions)" for pruning, values, n in rows)
    better = [min(values[1:]) > values[0] for _, values, _ in rows]
    return verdict(*better), f"Recall at 64 by BM25, E and C: {text}."


@finding("4.3", "TP is best and NP worst for small subgraphs; for large ones all are alike, EP a little ahead.")
def prunings(m: Measured) -> Verdict:
    names = [n for n in ("NP", "EP", "TP") if f"{n} by E" in m.sweeps]
    lines = {n: sorted(m.sweeps[f"{n} by E"]["points"].values(), key=lambda p: p["nodes"]) for n in names}
    small = {n: at_size(points, 40, "recall") for n, points in lines.items()}
    large = {n: at_size(points, 600, "recall") for n, points in lines.items()}
    text = f"Recall by E at 40 nodes: {shown(small)} %; at 600 nodes: {shown(large)} %."
    checks = [max(small, key=small.__getitem__) == "TP", min(small, key=small.__getitem__) == "NP"]
    checks.append(max(large.values()) - min(large.values()) < max(small.values()) - min(small.values()))
    return verdict(*checks, max(large, key=large.__getitem__) == "EP"), text


untested("4.3", "Pruning by an LLM gives small subgraphs whose size is hard to control.")


@finding("4.3", "Time for a text: LLM, then reranker, then encoder, then BM25, the longest first.")
def runtime_order(m: Measured) -> Verdict:
    systems = [m.systems[f"PPR / OSAR-{model}"] for model in JUDGES]
    each = [1000 * system["pr cpu ms"] / max(system["pr texts"], 1) for system in systems]
    text = f"Processor time for a path of PPR-1000: BM25 {each[0]:.0f}, E {each[1]:.0f}, C {each[2]:.0f} µs."
    return verdict(each[0] < each[1] < each[2]), text


@finding("4.4", "OSAR is better than ISAR with every model.")
def one_way_first(m: Measured) -> Verdict:
    names = [(se, model) for se in SEARCHED for model in JUDGES]
    pairs = {f"{se}, {model}": (f"{se} / OSAR-{model}", f"{se} / ISAR-{model}") for se, model in names}
    f1, hits = m.differences(pairs), m.differences(pairs, "hits@1")
    text = f"OSAR minus ISAR in points of PR F1, by the graph searched and the model: {differing(f1)}; of Hits@1: "
    text += f"{differing(hits)}. Beams lead to some nodes by several paths, so that 32 of them name fewer nodes."
    return verdict(*certain(f1)), text


@finding("4.4", "SPR is better than EPR and than I/OSAR by BM25, and worse than I/OSAR by the other models.")
def structure_between(m: Measured) -> Verdict:
    poor = ("EPR", "OSAR-BM25", "ISAR-BM25")
    rich = [f"{way}-{model}" for way in ("OSAR", "ISAR") for model in "EC"]
    rows = m.differences({name: (f"PPR / {name}", "PPR / SPR") for name in (*poor, *rich)})
    checks = [(d < 0) == (name in poor) and p < 0.05 for name, (d, p) in rows.items()]
    return verdict(*checks), f"PR F1 against SPR on PPR-1000, in points: {differing(rows)}."


@finding("4.4", "With more paths F1 rises for SPR and BM25; by the other models it rises, then falls.")
def more_paths(m: Measured) -> Verdict:
    curves = {
        pr: m.systems[f"PPR / {pr}"]["pr f1 by paths"] for pr in ("SPR", "OSAR-BM25", "OSAR-E", "ISAR-E", "OSAR-C")
    }
    peaks = {pr: 2 ** int(np.argmax(line)) for pr, line in curves.items()}
    tops = ", ".join(f"{pr} {100 * max(line):.1f} % at {peaks[pr]}" for pr, line in curves.items())
    rising = [all(b >= a for a, b in pairwise(curves[pr])) for pr in ("SPR", "OSAR-BM25")]
    falling = [1 < peaks[pr] < 128 for pr in ("OSAR-E", "ISAR-E", "OSAR-C")]
    return verdict(*rising, *falling), f"F1 is highest, by the number of paths: {tops}."


@finding("4.4", "A reranker is a little better than an encoder, which is faster.")
def judges(m: Measured) -> Verdict:
    names = [(se, way) for se in SEARCHED for way in ("OSAR", "ISAR")]
    rows = m.differences({f"{se}, {way}": (f"{se} / {way}-C", f"{se} / {way}-E") for se, way in names})
    c, e = (m.systems[f"PPR / OSAR-{model}"]["pr cpu ms p50"] for model in ("C", "E"))
    positive = [d > 0 for d, p in rows.values() if p < 0.05]
    text = f"PR F1 of C minus E, in points: {differing(rows)}. OSAR on PPR-1000 takes {e:,.0f} CPU ms by E, {c:,.0f} "
    text += "by C. C was trained on passages and not on triples."
    return verdict(bool(positive) and all(positive), e < c), text


untested("4.4", "Beam search by encoder and LLM together is better than by either (Table 5).")


@finding("5.1, 1", "Quality, time and cost are traded between modules, methods and models.")
def balance(m: Measured) -> Verdict:
    rows = [(n, m.common[f"lego-{n}"]) for n in (1, 10, 12, 14, 13, 15)]
    text = "; ".join(
        f"No. {n} Hits@1 {100 * row['pr hits@1']:.1f} %, {row['se cpu ms p50'] + row['pr cpu ms p50']:,.0f} CPU ms, "
        f"{row['se tokens'] + row['pr tokens']:,.0f} tokens"
        for n, row in rows
    )
    return verdict(*(row["pr hits@1"] > rows[0][1]["pr hits@1"] for n, row in rows if n > 10)), text + "."


@finding("5.1, 2", "Spend the model on retrieval: dearer extraction costs quality.")
def spend_on_retrieval(m: Measured) -> Verdict:
    lost, pairs = [m.of(n, "se recall") for n in (1, 2, 4)], ((12, 2), (13, 3), (14, 6), (15, 7))
    f1, recall = ([m.of(a, metric) - m.of(b, metric) for a, b in pairs] for metric in ("pr f1", "pr recall"))
    text = (
        f"The subgraph holds {listed(lost)} % of the answers (PPR, then 64 triples by E, by C). Without pruning minus "
    )
    text += f"with it by E, No. 12 and 2, 13 and 3, 14 and 6, 15 and 7: PR F1 {listed(f1, '{:+.1f}')} points, "
    text += f"PR recall {listed(recall, '{:+.1f}')}; a pruned graph often holds fewer than 32 paths, which raises F1."
    return verdict(*(d > 0 for d in (*f1, *recall))), text


@finding("5.1, 3", "Structure is cheap, models are needed for several hops; OSAR balances better than ISAR.")
def needed_for_hops(m: Measured) -> Verdict:
    rows = {n: [m.kind(f"lego-{n}", f"hops {h}", "pr recall") for h in (1, 2, 3)] for n in (1, 12, 14)}
    text = "PR recall at 1, 2 and 3 hops: " + "; ".join(f"No. {n} {listed(row)} %" for n, row in rows.items()) + ". "
    f1 = [m.of(n, "pr f1") for n in (12, 14)]
    text += f"PR F1 of OSAR by E (No. 12) {f1[0]:.1f} %, of ISAR by E (No. 14) {f1[1]:.1f} %."
    text += OWN
    deep = [max(rows[12][h], rows[14][h]) > rows[1][h] for h in (1, 2)]
    return verdict(*deep, f1[0] > f1[1]), text


untested("5.1, 4", "Encoders are cheaper, LLMs better and unsteady.")


@finding("5.1, 5", "Structure for extraction and OSAR for retrieval (No. 12, 13) is the way to go.")
def best_balance(m: Measured) -> Verdict:
    f1 = {n: m.of(n, "pr f1") for n in range(1, 16)}
    order = sorted(f1, key=lambda n: -f1[n])
    d, p = m.difference("lego-12", "lego-1")
    text = f"PR F1 of No. 12 is {f1[12]:.1f} % ({d:+.1f} points against No. 1, p {p:.3f}), place {order.index(12) + 1} "
    text += f"of 15, of No. 13 {f1[13]:.1f} %, place {order.index(13) + 1}; "
    text += f"the best is No. {order[0]} with {f1[order[0]]:.1f} %."
    return verdict(order.index(12) < 5, d > 0 and p < 0.05), text


@finding("5.2", "Communities known beforehand make extraction faster, and lose what lies in other communities.")
def communities(m: Measured) -> Verdict:
    return extraction(m, ("communities / SPR",), lambda own, ppr: (own["se recall"] < ppr["se recall"],))


@finding("5.2", "Search among vectors is faster than PPR with high recall, and gives many components.")
def vectors(m: Measured) -> Verdict:
    def checks(own: Record, ppr: Record) -> tuple[bool, ...]:
        return own["se recall"] > ENOUGH / 100, own["se components"] > 2 * ppr["se components"]

    return extraction(m, ("names by vectors / SPR", "triples by vectors / SPR"), checks)


untested("5.3", "Several rounds of the LLM, or filling up by an encoder, mend answers of LLMs that are too few.")


def findings(results: Record) -> str:
    """Return a paragraph for each finding, by the measurements on MetaQA."""
    m = Measured(results["metaqa"])
    paragraphs = []
    for place, claim, judge in FINDINGS:
        outcome, text = judge(m)
        paragraphs.append(f"- **{place}: {claim}** *{outcome}* {text}")
    return "\n".join(paragraphs)


# Figures and tables


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


def draw_structures(path: Path, results: Record, states: Sequence[str]) -> None:
    """Draw figure 8, a row for each set."""
    sets = {name: of["sweeps"] for name, of in results.items() if "PPR" in of["sweeps"]}
    with figure(path, len(sets), 2, (9, 3.1 * len(sets) + 0.5), states) as (drawn, rows):
        for (name, sweeps), panels in zip(sets.items(), rows, strict=True):
            label_pair(panels, f"{name}, {sweeps['PPR']['questions']} questions")
            for method, (colour, line, label) in STRUCTURE.items():
                sizes = [sweep["points"].values() for at, sweep in sweeps.items() if at.split(" ")[0] == method]
                points = [point for some in sizes for point in some]
                draw_curve(panels, points, color=colour, linestyle=line, label=label)
        shared_legend(drawn, rows[0, 0], 2)


def draw_models(path: Path, results: Record, states: Sequence[str]) -> None:
    """Draw figure 9: PPR-1000 after pruning of nodes, relations or triples by each model."""
    sweeps, counts = results["metaqa"]["sweeps"], set()
    with figure(path, 1, 2, (9.5, 4.2), states) as (drawn, panels):
        for (pruning, (what, line)), model in product(PRUNINGS.items(), ("BM25", "E", "C")):
            sweep = sweeps.get(f"{pruning} by {model}")
            if sweep is not None:
                counts.add(sweep["questions"])
                label = f"{pruning} ({what}) by {model}"
                draw_curve(panels[0], sweep["points"].values(), color=MODELS[model], linestyle=line, label=label)
        label_pair(panels[0], f"metaqa, {min(counts)} to {max(counts)} questions")
        shared_legend(drawn, panels[0, 0], 3)


def draw_retrievals(path: Path, results: Record, states: Sequence[str]) -> None:
    """Draw figure 11: F1 of 32 paths for each retrieval, on the graphs of three extractions."""
    systems, names = results["metaqa"]["systems"], cells()
    with figure(path, 1, 1, (10, 3.9), states) as (drawn, panels):
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


def draw_path_counts(path: Path, results: Record, states: Sequence[str]) -> None:
    """Draw figure 12: F1 against the number of paths, on PPR-1000."""
    systems = results["metaqa"]["systems"]
    with figure(path, 1, 1, (7.6, 4.4), states) as (drawn, panels):
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


FIGURES: Mapping[str, Callable[[Path, Record, Sequence[str]], None]] = {
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
    }
    return ABOUT.format(**{name: part.rstrip("\n") for name, part in parts.items()})


def write_lego(out: Path) -> None:
    """Write the page and the figures of the summary in a folder."""
    results, states = read_results(out / "lego.json"), states_in(out / "lego.json")
    for of in results.values():
        of["systems"] |= {name: of["systems"][first] for name, first in of["called"].items()}
    for name, draw in FIGURES.items():
        draw(out / name, results, states)
    write_page(out / "lego.md", page(results), together([states, states_in(PPR)]))
