"""Write the page of lego.py from its summary; `lego_page.md` is its text, with names for the tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from harness import Record, read_results, table, write_page
from stamps import states_in

PAGE = Path(__file__).with_suffix(".md")


SEARCHED = ("PPR", "PPR+EP-E", "PPR+EP-C")
"""Extractions on whose graphs the retrievals are compared."""
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
RETRIEVALS = ("SPR", "EPR", "OSAR-BM25", "OSAR-E", "OSAR-C", "ISAR-BM25", "ISAR-E", "ISAR-C")
OURS = ("OSAR-V", "OSAR-T", "OSAR-P", "ISAR-S", "ISAR-D", "ISAR-V", "ISAR-T", "ISAR-P")
STATISTICAL = ("OSAR-LSA", "OSAR-LDA", "ISAR-LSA", "ISAR-LDA")
TUNED = {"encoder": ("OSAR-F", "ISAR-F"), "cross-encoder": ("OSAR-G", "ISAR-G")}
OTHER_EXTRACTIONS = (
    *("RW", "KSE", "KSE-PPR", "PageRank", "KSE-PageRank", "communities", "PPR+NP-E", "PPR+EP-R", "PPR+TP-R"),
    *("PPR+TP-BM25", "PPR+TP-LSA", "PPR+TP-LDA", "PPR+TP-C", "PPR+TP-EC", "PPR+TP-RC"),
)
TRIPLES = ("SPR", "OSAR-E", "OSAR-C", "ISAR-E", "ISAR-C")
"""Retrievals on the graph that is pruned by triples instead of edges."""


def cells() -> dict[tuple[str, str], str]:
    """Return the name of each cell of the map by its extraction and its retrieval, as `lego.cell` takes them."""
    pairs = [(extraction, retrieval) for extraction in SEARCHED for retrieval in RETRIEVALS]
    pairs += [("PPR", retrieval) for retrieval in (*OURS, *STATISTICAL, "OSAR/EPR-P")]
    pairs += [("PPR+TP-E", retrieval) for retrieval in TRIPLES]
    pairs += [(extraction, "SPR") for extraction in OTHER_EXTRACTIONS]
    return {pair: " / ".join(pair) for pair in pairs}


JUDGES = ("BM25", "E", "C")
BEAMS = {"ISAR-S": "triple-level scoring", "ISAR-D": "dynamic pruning"}
PAIRS = (
    *((f"{se} / OSAR-{model}", f"{se} / ISAR-{model}") for se in SEARCHED for model in JUDGES),
    *((f"{se} / {pr}", f"{se} / SPR") for se in SEARCHED for pr in ("EPR", "OSAR-BM25", "ISAR-BM25")),
    *((f"{se} / {way}-{model}", f"{se} / SPR") for se in SEARCHED for way in ("OSAR", "ISAR") for model in ("E", "C")),
    *((f"{se} / {way}-C", f"{se} / {way}-E") for se in SEARCHED for way in ("OSAR", "ISAR")),
    *((f"PPR+TP-E / {pr}", f"PPR+EP-E / {pr}") for pr in TRIPLES),
    *((f"PPR+TP-{a} / SPR", f"PPR+TP-{b} / SPR") for a, b in (("EC", "RC"), ("EC", "C"), ("E", "R"))),
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
    most = max((of["questions"] for of in shared.values()), default=0)
    shared = {at: of for at, of in shared.items() if of["questions"] == most}
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
    return PAGE.read_text(encoding="utf-8").format(**{name: part.rstrip("\n") for name, part in parts.items()})


def write_lego(out: Path) -> None:
    """Write the page of the summary in a folder."""
    results = read_results(out / "lego.json")
    for of in results.values():
        of["systems"] |= {name: of["systems"][first] for name, first in of["called"].items()}
    write_page(out / "lego.md", page(results), states_in(out / "lego.json"))
