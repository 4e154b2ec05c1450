"""Compare the findings of LEGO-GraphRAG, one by one, with the measurements of lego.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from harness import RESULTS, Record

Verdict = tuple[str, str]
"""Whether a finding holds, and the measurements that say so."""
GROUPS = {
    "I": (1,),
    "II": (2, 3, 4, 5, 6, 7, 8, 9),
    "III": (10, 11),
    "IV": (12, 13, 14, 15),
}
SEARCHED = ("PPR", "PPR+TP-E", "PPR+TP-C")
MODELS = ("BM25", "E", "C")
BEAMS = {"ISAR-S": "triple-level scoring", "ISAR-D": "dynamic pruning"}
PAIRS = (
    *((f"{se} / OSAR-{model}", f"{se} / ISAR-{model}") for se in SEARCHED for model in MODELS),
    *((f"{se} / {pr}", f"{se} / SPR") for se in SEARCHED for pr in ("EPR", "OSAR-BM25", "ISAR-BM25")),
    *((f"{se} / {way}-{model}", f"{se} / SPR") for se in SEARCHED for way in ("OSAR", "ISAR") for model in ("E", "C")),
    *((f"{se} / {way}-C", f"{se} / {way}-E") for se in SEARCHED for way in ("OSAR", "ISAR")),
    *((f"lego-{a}", f"lego-{b}") for a, b in ((2, 6), (3, 6), (7, 6), (14, 15), (12, 1), (14, 1))),
    *((f"PPR / {way}", "PPR / ISAR-E") for way in BEAMS),
    *((f"PPR / {way}-{by}", f"PPR / {way}-E") for way in ("OSAR", "ISAR") for by in "VTP"),
)
ENOUGH = 0.6  # of the answers a subgraph has to hold, section 4.1
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


def instances_one(m: Measured) -> Verdict:
    hits, f1 = ({n: m.of(n, metric) for n in range(1, 16)} for metric in ("pr hits@1", "pr f1"))
    below = [n for n in hits if hits[n] < hits[1]]
    lower = [n for n in f1 if f1[n] < f1[1]]
    text = f"Hits@1 of No. 1 is {hits[1]:.1f} %, PR F1 {f1[1]:.1f} %; lower in Hits@1 are {numbers(below)}, "
    return verdict(not below, not lower), text + f"lower in F1 {numbers(lower)}."


def numbers(given: Sequence[int]) -> str:
    """Return the numbers of instances as text."""
    return f"No. {', '.join(map(str, given))}" if given else "none"


def encoders_extract(m: Measured) -> Verdict:
    e, c = (m.group(of) for of in ((2, 3, 6, 7), (4, 5, 8, 9)))
    recall = [m.of(n, "se recall") for n in (2, 4)]
    return UNTESTED, (
        f"No language model. With C in its place: mean Hits@1 of No. 2, 3, 6, 7 (by E) {e:.1f} %, of No. 4, 5, 8, 9 "
        f"(by C) {c:.1f} %; of the answers the subgraph holds {recall[0]:.1f} % by E and {recall[1]:.1f} % by C, of "
        f"{m.of(1, 'se recall'):.1f} % before pruning, so either model prunes away what paths need."
    )


def best_two(m: Measured) -> Verdict:
    hits = sorted(range(1, 16), key=lambda n: -m.of(n))
    f1 = sorted(range(1, 16), key=lambda n: -m.of(n, "pr f1"))
    firsts = [f"No. {n} ({m.of(n):.1f})" for n in hits[:4]], [f"No. {n} ({m.of(n, 'pr f1'):.1f})" for n in f1[:4]]
    text = f"Best in Hits@1: {', '.join(firsts[0])}; in PR F1: {', '.join(firsts[1])}."
    return verdict({2, 3} <= set(hits[:3]), {2, 3} <= set(f1[:3])), text


def six_worst(m: Measured) -> Verdict:
    rows = {n: m.difference(f"lego-{n}", "lego-6", "hits@1") for n in (2, 3, 7)}
    text = ", ".join(f"No. {n} {d:+.1f} points (p {p:.3f})" for n, (d, p) in rows.items())
    text = f"Hits@1 against No. 6, on the questions that both were asked: {text}. That beams fit LLMs: not testable."
    return verdict(*(d > 0 and p < 0.05 for d, p in rows.values())), text


def beams_mended(m: Measured) -> Verdict:
    pairs = {name: (f"PPR / {way}", "PPR / ISAR-E") for way, name in BEAMS.items()}
    f1, hits = m.differences(pairs), m.differences(pairs, "hits@1")
    if len(f1) < len(pairs):
        return UNTESTED, "Not measured."
    texts = [
        f"{name} {d:+.1f} points of PR F1 (p {p:.3f}), {hits[name][0]:+.1f} of Hits@1" for name, (d, p) in f1.items()
    ]
    better = [d > 0 and p < 0.05 for d, p in f1.values()]
    return verdict(*better), f"Against beam search by E on PPR-1000: {'; '.join(texts)}."


def retrieval_first(m: Measured) -> Verdict:
    hits, f1 = ([m.group(GROUPS[g], metric) for g in ("IV", "III")] for metric in ("pr hits@1", "pr f1"))
    text = (
        f"Mean Hits@1 of group IV {hits[0]:.1f} %, of group III {hits[1]:.1f} %; PR F1 {f1[0]:.1f} and {f1[1]:.1f} %."
    )
    return verdict(hits[0] > hits[1], f1[0] > f1[1]), text


def both_not_needed(m: Measured) -> Verdict:
    two, rest = [m.of(n) for n in GROUPS["II"]], [m.of(n) for n in (*GROUPS["III"], *GROUPS["IV"])]
    text = f"Hits@1 of group II: {min(two):.1f} to {max(two):.1f} %; of groups III and IV: {min(rest):.1f} to "
    return verdict(min(two) < max(rest)), text + f"{max(rest):.1f} %."


def high_on_metaqa(m: Measured) -> Verdict:
    hits = [m.of(n) for n in range(1, 16)]
    d, p = m.difference("lego-14", "lego-15", "hits@1")
    text = (
        f"Hits@1 is {min(hits):.1f} to {max(hits):.1f} %: what makes it high in the paper is the LLM that answers from "
    )
    text += f"32 paths, and here the first path answers. No. 14 against No. 15: {d:+.1f} points (p {p:.3f}), with C."
    return verdict(min(hits) > 80, d > 0 or p >= 0.05), text


def bottleneck(m: Measured) -> Verdict:
    shares = {n: m.common[f"lego-{n}"] for n in range(1, 16)}
    slower = [n for n, held in shares.items() if held["se cpu ms p50"] > held["pr cpu ms p50"]]
    one = shares[1]
    text = f"In processor time the extraction takes longer than the retrieval in {numbers(slower)}: in No. 1 "
    text += f"{one['se cpu ms p50']:.0f} ms against {one['pr cpu ms p50']:.1f}. Where a model reads paths of PPR-1000 "
    text += (
        f"(No. 12 to 15), {listed([shares[n]['pr cpu ms p50'] for n in (12, 13, 14, 15)], '{:,.0f}')} ms go into the "
    )
    text += "retrieval."
    return verdict(len(slower) == 15, one["se cpu ms p50"] > one["pr cpu ms p50"]), text


def tokens(m: Measured) -> Verdict:
    def total(n: int) -> float:
        return float(m.common[f"lego-{n}"]["se tokens"] + m.common[f"lego-{n}"]["pr tokens"])

    mixed, same = np.mean([total(n) for n in (3, 4, 7, 8)]), np.mean([total(n) for n in (2, 5, 6, 9)])
    only = np.mean([total(n) for n in (2, 6)])
    text = f"Tokens read for a question: mixed {mixed:,.0f}, one model {same:,.0f}, only E {only:,.0f}. "
    text += "Vectors of triples are known beforehand here, so that E reads little; graphics memory is not used."
    return verdict(mixed > 1.02 * same, only < min(mixed, same)), text


def hops(m: Measured) -> Verdict:
    names = {n: m.systems[f"lego-{n}"] for n in range(1, 16)}
    rows = {n: [m.kind(f"lego-{n}", f"hops {h}") for h in (1, 2, 3)] for n in names}
    falling = [n for n, row in rows.items() if row[0] > max(row[1:])]
    text = f"Hits@1 at 1, 2 and 3 hops: No. 1 {listed(rows[1])}; No. 12 {listed(rows[12])}; No. 6 {listed(rows[6])} %. "
    text += f"Highest at one hop in {len(falling)} of 15."
    return verdict(len(falling) > 12), text + OWN


def several(m: Measured) -> Verdict:
    rows = {n: [m.kind(f"lego-{n}", k, "pr recall") for k in ("one answer", "several answers")] for n in range(1, 16)}
    falling = [n for n, (one, more) in rows.items() if one > more]
    loss = {n: one - more for n, (one, more) in rows.items()}
    meaning = np.mean([loss[n] for n in range(2, 16)])
    text = f"PR recall is lower for several answers in {len(falling)} of 15 (No. 1: {listed(rows[1])} %; No. 12: "
    text += f"{listed(rows[12])} %); it falls by {loss[1]:.1f} points in No. 1, by {meaning:.1f} on the mean of the "
    text += "others. Several answers go with more hops here." + OWN
    return verdict(len(falling) > 12, loss[1] > meaning), text


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


def ppr_over_walks(m: Measured) -> Verdict:
    walks, ppr = m.line("RW"), m.line("PPR")
    there = [p for p in walks if ppr[0]["nodes"] <= p["nodes"] <= ppr[-1]["nodes"]]
    recall = [at_size(ppr, p["nodes"], "recall") - 100 * p["recall"] for p in there]
    f1 = [at_size(ppr, p["nodes"], "f1") - 100 * p["f1"] for p in there]
    best = max(100 * p["recall"] for p in walks)
    cut = max((100 * p["recall"] for p in m.line("RW-cut")), default=0)
    text = f"At the sizes of the walks PPR has {min(recall):+.1f} to {max(recall):+.1f} points of recall and "
    text += (
        f"{min(f1):+.1f} to {max(f1):+.1f} of F1 more. Walks reach a recall of {best:.1f} %, and {cut:.1f} % where the "
    )
    text += "most visited nodes of 20,000 walks are kept."
    return verdict(min(recall) > 0 and min(f1) > 0, best < 60), text


def flexible(m: Measured) -> Verdict:
    points = m.line("KSE")
    text = f"One, two and three hops hold {listed([p['nodes'] for p in points], '{:,.0f}')} nodes on the mean, with a "
    text += "recall of "
    return (
        HOLDS,
        text + f"{listed([100 * p['recall'] for p in points])} %, and nothing lies between; PPR is cut anywhere.",
    )


def ppr_cost(m: Measured) -> Verdict:
    held = json.loads((RESULTS / "ppr.json").read_text("utf-8"))
    rows = [row for row in held if isinstance(row, dict) and row.get("k") == 1000 and row.get("nodes", 0) >= 1_000_000]
    text = f"PPR takes {m.systems['lego-1']['se cpu ms p50']:.0f} ms of processor time here."
    if rows:
        large = max(rows, key=lambda row: row["nodes"])
        text += f" On {large['nodes']:,} nodes and {large['edges']:,} edges it takes {large['p50_ms']:.0f} ms with a "
        text += f"recall of {large['recall']:.3f} of the exact best {large['k']:,} (`ppr.json`)."
    return NOT, text


def models_over_words(m: Measured) -> Verdict:
    rows = []
    for pruning in ("NP", "EP", "TP"):
        held = [m.sweeps.get(f"{pruning} by {model}") for model in MODELS]
        if None not in held:
            rows.append((pruning, [100 * h["points"]["64"]["recall"] for h in held], [h["questions"] for h in held]))
    text = "; ".join(f"{pruning} {listed(values)} % ({listed(n, '{:d}')} questions)" for pruning, values, n in rows)
    better = [min(values[1:]) > values[0] for _, values, _ in rows]
    return verdict(*better), f"Recall at 64 by BM25, E and C: {text}."


def prunings(m: Measured) -> Verdict:
    names = [n for n in ("NP", "EP", "TP") if f"{n} by E" in m.sweeps]
    lines = {n: sorted(m.sweeps[f"{n} by E"]["points"].values(), key=lambda p: p["nodes"]) for n in names}
    small = {n: at_size(points, 40, "recall") for n, points in lines.items()}
    large = {n: at_size(points, 600, "recall") for n, points in lines.items()}
    text = f"Recall by E at 40 nodes: {shown(small)} %; at 600 nodes: {shown(large)} %."
    checks = [max(small, key=small.__getitem__) == "TP", min(small, key=small.__getitem__) == "NP"]
    checks.append(max(large.values()) - min(large.values()) < max(small.values()) - min(small.values()))
    return verdict(*checks, max(large, key=large.__getitem__) == "EP"), text


def shown(values: Mapping[str, float]) -> str:
    """Return named values as text."""
    return ", ".join(f"{name} {value:.1f}" for name, value in values.items())


def runtime_order(m: Measured) -> Verdict:
    held = [m.systems[f"PPR / OSAR-{model}"] for model in MODELS]
    each = [1000 * h["pr cpu ms"] / max(h["pr texts"], 1) for h in held]
    text = f"Processor time for a path of PPR-1000: BM25 {each[0]:.0f}, E {each[1]:.0f}, C {each[2]:.0f} µs."
    return verdict(each[0] < each[1] < each[2]), text


def one_way_first(m: Measured) -> Verdict:
    names = [(se, model) for se in SEARCHED for model in MODELS]
    pairs = {f"{se}, {model}": (f"{se} / OSAR-{model}", f"{se} / ISAR-{model}") for se, model in names}
    f1, hits = m.differences(pairs), m.differences(pairs, "hits@1")
    texts = [
        f"{name}: {d:+.1f} (p {p:.3f}), {hits[name][0]:+.1f} (p {hits[name][1]:.3f})" for name, (d, p) in f1.items()
    ]
    text = (
        f"OSAR minus ISAR in points of PR F1 and of Hits@1, by the graph searched and the model: {'; '.join(texts)}. "
    )
    better = [d > 0 and p < 0.05 for d, p in f1.values()]
    return verdict(*better), text + "Beams lead to some nodes by several paths, so that 32 of them name fewer nodes."


def structure_between(m: Measured) -> Verdict:
    poor = ("EPR", "OSAR-BM25", "ISAR-BM25")
    rich = [f"{way}-{model}" for way in ("OSAR", "ISAR") for model in "EC"]
    rows = m.differences({name: (f"PPR / {name}", "PPR / SPR") for name in (*poor, *rich)})
    text = ", ".join(f"{name} {d:+.1f} (p {p:.3f})" for name, (d, p) in rows.items())
    checks = [(d < 0) == (name in poor) and p < 0.05 for name, (d, p) in rows.items()]
    return verdict(*checks), f"PR F1 against SPR on PPR-1000, in points: {text}."


def more_paths(m: Measured) -> Verdict:
    curves = {
        pr: m.systems[f"PPR / {pr}"]["pr f1 by paths"] for pr in ("SPR", "OSAR-BM25", "OSAR-E", "ISAR-E", "OSAR-C")
    }
    peaks = {pr: 2 ** int(np.argmax(line)) for pr, line in curves.items()}
    tops = ", ".join(f"{pr} {100 * max(line):.1f} % at {peaks[pr]}" for pr, line in curves.items())
    rising = [all(b >= a for a, b in pairwise(curves[pr])) for pr in ("SPR", "OSAR-BM25")]
    falling = [1 < peaks[pr] < 128 for pr in ("OSAR-E", "ISAR-E", "OSAR-C")]
    return verdict(*rising, *falling), f"F1 is highest, by the number of paths: {tops}."


def judges(m: Measured) -> Verdict:
    names = [(se, way) for se in SEARCHED for way in ("OSAR", "ISAR")]
    rows = m.differences({f"{se}, {way}": (f"{se} / {way}-C", f"{se} / {way}-E") for se, way in names})
    c, e = (m.systems[f"PPR / OSAR-{model}"]["pr cpu ms p50"] for model in ("C", "E"))
    certain = [d > 0 for d, p in rows.values() if p < 0.05]
    text = ", ".join(f"{name} {d:+.1f} (p {p:.3f})" for name, (d, p) in rows.items())
    text = f"PR F1 of C minus E, in points: {text}. OSAR on PPR-1000 takes {e:,.0f} CPU ms by E, {c:,.0f} by C."
    return verdict(bool(certain) and all(certain), e < c), text + " C was trained on passages and not on triples."


def best_balance(m: Measured) -> Verdict:
    f1 = {n: m.of(n, "pr f1") for n in range(1, 16)}
    order = sorted(f1, key=lambda n: -f1[n])
    d, p = m.difference("lego-12", "lego-1")
    text = f"PR F1 of No. 12 is {f1[12]:.1f} % ({d:+.1f} points against No. 1, p {p:.3f}), place "
    text += f"{order.index(12) + 1} of 15, "
    text += (
        f"of No. 13 {f1[13]:.1f} %, place {order.index(13) + 1}; the best is No. {order[0]} with {f1[order[0]]:.1f} %."
    )
    return verdict(order.index(12) < 5, d > 0 and p < 0.05), text


def balance(m: Measured) -> Verdict:
    rows = [(n, m.common[f"lego-{n}"]) for n in (1, 10, 12, 14, 13, 15)]
    text = "; ".join(
        f"No. {n} Hits@1 {100 * held['pr hits@1']:.1f} %, {held['se cpu ms p50'] + held['pr cpu ms p50']:,.0f} CPU ms, "
        f"{held['se tokens'] + held['pr tokens']:,.0f} tokens"
        for n, held in rows
    )
    return verdict(*(held["pr hits@1"] > rows[0][1]["pr hits@1"] for n, held in rows if n > 10)), text + "."


def spend_on_retrieval(m: Measured) -> Verdict:
    lost, pairs = [m.of(n, "se recall") for n in (1, 2, 4)], ((12, 2), (13, 3), (14, 6), (15, 7))
    f1, recall = ([m.of(a, metric) - m.of(b, metric) for a, b in pairs] for metric in ("pr f1", "pr recall"))
    text = (
        f"The subgraph holds {listed(lost)} % of the answers (PPR, then 64 triples by E, by C). Without pruning minus "
    )
    text += (
        f"with it by E, No. 12 and 2, 13 and 3, 14 and 6, 15 and 7: PR F1 {listed(f1, '{:+.1f}')} points, PR recall "
    )
    text += f"{listed(recall, '{:+.1f}')}; a pruned graph often holds fewer than 32 paths, which raises F1."
    return verdict(*(d > 0 for d in (*f1, *recall))), text


def needed_for_hops(m: Measured) -> Verdict:
    rows = {n: [m.kind(f"lego-{n}", f"hops {h}", "pr recall") for h in (1, 2, 3)] for n in (1, 12, 14)}
    text = "PR recall at 1, 2 and 3 hops: " + "; ".join(f"No. {n} {listed(row)} %" for n, row in rows.items()) + ". "
    f1 = [m.of(n, "pr f1") for n in (12, 14)]
    text += f"PR F1 of OSAR by E (No. 12) {f1[0]:.1f} %, of ISAR by E (No. 14) {f1[1]:.1f} %."
    text += OWN
    deep = [max(rows[12][h], rows[14][h]) > rows[1][h] for h in (1, 2)]
    return verdict(*deep, f1[0] > f1[1]), text


def communities(m: Measured) -> Verdict:
    return extraction(m, ("communities / SPR",), lambda own, ppr: (own["se recall"] < ppr["se recall"],))


def vectors(m: Measured) -> Verdict:
    def checks(own: Record, ppr: Record) -> tuple[bool, ...]:
        return own["se recall"] > ENOUGH, own["se components"] > 2 * ppr["se components"]

    return extraction(m, ("names by vectors / SPR", "triples by vectors / SPR"), checks)


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


def untested(reason: str) -> Callable[[Measured], Verdict]:
    """Return the verdict on a finding about language models."""
    return lambda m: (UNTESTED, reason)


FINDINGS = (
    ("4.2 a.1", "Structure in both modules (No. 1) is the weakest instance.", instances_one),
    (
        "4.2 a.2",
        "With models in both modules, extract by an encoder rather than an LLM, which prunes too much.",
        encoders_extract,
    ),
    ("4.2 a.2", "Extraction by an encoder with OSAR (No. 2 and 3) is the best combination.", best_two),
    ("4.2 a.2", "Of those that extract by an encoder, No. 6 (beam search by an encoder) is the worst.", six_worst),
    ("4.2 a.2", "Triple-level scoring and dynamic pruning help beam search by an encoder.", beams_mended),
    ("4.2 a.3", "If one module has a model, let it be retrieval: group IV is better than group III.", retrieval_first),
    ("4.2 a.3", "Models in both modules (group II) are not always better than in one.", both_not_needed),
    ("4.2 a.3", "On MetaQA all instances score high, and No. 14 is about as good as No. 15.", high_on_metaqa),
    ("4.2 b", "Extraction takes most of the time in every instance.", bottleneck),
    (
        "4.2 b",
        "Retrieval by an LLM, beam search above all, takes a minute or two.",
        untested("No language model; what C costs in its place is in the tables."),
    ),
    (
        "4.2 c",
        "Instances with two kinds of model read more tokens than those with one; encoders alone are cheapest.",
        tokens,
    ),
    ("4.2 d", "Quality falls with the hops.", hops),
    ("4.2 d", "Quality falls from one answer to several, less where models take part.", several),
    (
        "4.2 d",
        "Quality rises with the number of query entities.",
        untested("Every question of these sets has one query entity."),
    ),
    ("4.2 e", "Summaries of communities beside the paths help small LLMs.", untested("No language model.")),
    ("4.3", "Structure-based extraction: F1 falls and recall rises with the size.", sizes),
    ("4.3", "PPR is better than random walks at all sizes; walks stay below a recall of 60 %.", ppr_over_walks),
    ("4.3", "The size of PPR's subgraph can be chosen, that of k hops cannot.", flexible),
    ("4.3", "PPR is too slow for large graphs.", ppr_cost),
    ("4.3", "Pruning by an encoder or a reranker is far better than by BM25.", models_over_words),
    ("4.3", "TP is best and NP worst for small subgraphs; for large ones all are alike, EP a little ahead.", prunings),
    (
        "4.3",
        "Pruning by an LLM gives small subgraphs whose size is hard to control.",
        untested("No language model."),
    ),
    ("4.3", "Time for a text: LLM, then reranker, then encoder, then BM25, the longest first.", runtime_order),
    ("4.4", "OSAR is better than ISAR with every model.", one_way_first),
    (
        "4.4",
        "SPR is better than EPR and than I/OSAR by BM25, and worse than I/OSAR by the other models.",
        structure_between,
    ),
    ("4.4", "With more paths F1 rises for SPR and BM25; by the other models it rises, then falls.", more_paths),
    ("4.4", "A reranker is a little better than an encoder, which is faster.", judges),
    (
        "4.4",
        "Beam search by encoder and LLM together is better than by either (Table 5).",
        untested("No language model."),
    ),
    ("5.1, 1", "Quality, time and cost are traded between modules, methods and models.", balance),
    ("5.1, 2", "Spend the model on retrieval: dearer extraction costs quality.", spend_on_retrieval),
    (
        "5.1, 3",
        "Structure is cheap, models are needed for several hops; OSAR balances better than ISAR.",
        needed_for_hops,
    ),
    ("5.1, 4", "Encoders are cheaper, LLMs better and unsteady.", untested("No language model.")),
    ("5.1, 5", "Structure for extraction and OSAR for retrieval (No. 12, 13) is the way to go.", best_balance),
    (
        "5.2",
        "Communities known beforehand make extraction faster, and lose what lies in other communities.",
        communities,
    ),
    ("5.2", "Search among vectors is faster than PPR with high recall, and gives many components.", vectors),
    (
        "5.3",
        "Several rounds of the LLM, or filling up by an encoder, mend answers of LLMs that are too few.",
        untested("No language model."),
    ),
)


def findings(results: Record) -> str:
    """Return a paragraph for each finding, by the measurements on MetaQA."""
    m = Measured(results["metaqa"])
    paragraphs = []
    for place, claim, judge in FINDINGS:
        outcome, text = judge(m)
        paragraphs.append(f"- **{place}: {claim}** *{outcome}* {text}")
    return "\n".join(paragraphs)
