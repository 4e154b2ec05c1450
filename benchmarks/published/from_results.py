"""Figures of the papers' tables that other benchmarks measure: read from their results, named as the paper names them.

Each function takes the folder of the results, and raises NotMeasured with the command that makes what it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness import Record, read_results

from graphwright.methods.papers.lego import INSTANCES
from published.tables import NotMeasured, Ours

Measure = Callable[[Path], Ours]


def read(results: Path, name: str, command: str) -> Any:
    """Return the results in a file. Raises NotMeasured where there are none."""
    found: Any = read_results(results / name)
    if not found:
        raise NotMeasured(f"not measured yet; run `python benchmarks/{command}`.")
    return found


def part(results: Record, name: str, command: str) -> Any:
    """Return one part of results. Raises NotMeasured where it is missing."""
    if name not in results:
        raise NotMeasured(f"not measured yet; run `python benchmarks/{command}`.")
    return results[name]


def percent(value: float) -> float:
    """Return a share in percent."""
    return round(100 * value, 1)


# FastInsight

CORPORA = ("cisi", "cora", "hotpotqa100", "musique", "scifact", "scifact-entities")
GRAPH_METHODS = {
    "Vector Search": "vector",
    "HyDE": "hyde",
    "Re2": "rerank (vector)",
    "LightRAG": "lightrag (adapted)",
    "HippoRAG 2": "hipporag2 (adapted)",
    "GAR": "gar (vector)",
    "FastInsight": "fastinsight",
}
"""The paper's methods as `fastinsight.py` names them."""
_COMMAND = "published/fastinsight.py --data DIR"


def corpora(results: Path) -> dict[str, Record]:
    """Return the results of all corpus graphs that were measured."""
    sets = {name: read_results(results / "corpora" / f"{name}.json") for name in CORPORA}
    measured = {name: of for name, of in sets.items() if of}
    if not measured:
        raise NotMeasured(f"not measured yet; run `python benchmarks/{_COMMAND}`.")
    return measured


def about_corpora(sets: Mapping[str, Record]) -> str:
    """Return what the corpus graphs are, in a sentence."""
    first = next(iter(sets.values()))
    counts = ", ".join(f"{name} {of['questions']}" for name, of in sets.items())
    return (
        f"Questions of each set: {counts}; encoder {first['encoder']}, cross-encoder {first['cross_encoder']}; HyDE, "
        f"LightRAG and HippoRAG 2 offline. `scifact-entities` is the graph of entities, the others are of passages."
    )


def sizes(results: Path) -> Ours:
    """Return the sizes of our corpus graphs."""
    sets = corpora(results)
    rows = {
        name: {"nodes": of["nodes"], "edges": of["links"], "questions": of["questions"]} for name, of in sets.items()
    }
    return Ours(about_corpora(sets), rows)


def retrieval(results: Path) -> Ours:
    """Return recall and nDCG of each method on each corpus graph, and the means."""
    sets = corpora(results)
    rows: dict[str, dict[str, Any]] = {}
    for label, name in GRAPH_METHODS.items():
        row: dict[str, Any] = {}
        for set_, of in sets.items():
            for metric, shown in (("recall", "R@10"), ("ndcg", "nDCG")):
                if name in of["methods"]:
                    row[f"{set_} {shown}"] = percent(of["methods"][name][metric]["mean"])
        rows[label] = row
    return Ours(
        about_corpora(sets) + " SPLADE and Contriever need weights that are not at hand. PathRAG is not measured here: "
        "it searches a graph of entities, and `recall.md` has its passages.",
        rows,
    )


def gains(results: Path) -> Ours:
    """Return the correlations of recall and of MissTR with the recall gained later."""
    sets = corpora(results)
    rows: dict[str, dict[str, Any]] = {"GAR": {}, "FastInsight": {}}
    for set_, of in sets.items():
        for label, row in rows.items():
            values = of["correlations"].get(GRAPH_METHODS[label], {})
            row[f"{set_} recall"], row[f"{set_} MissTR"] = values.get("recall"), values.get("missed")
            row[f"{set_} MissTR, open"] = values.get("open")
    return Ours(
        about_corpora(sets) + " A question whose first ten nodes hold everything has neither a gain nor a MissTR; "
        "`open` leaves these out.",
        rows,
    )


def curves(column: int) -> Measure:
    """Return the measure of a curve over the budget: 1 for recall@10, 3 for topological recall."""

    def measure(results: Path) -> Ours:
        sets, rows = corpora(results), {}
        for set_, of in sets.items():
            for label in ("Re2", "GAR", "FastInsight"):
                points = of["curves"].get(GRAPH_METHODS[label], ())
                rows[f"{label}, {set_}"] = {f"{point[0]:.0f} read": percent(point[column]) for point in points}
        return Ours(about_corpora(sets) + " Percent.", rows)

    return measure


def sensitivity(results: Path) -> Ours:
    """Return R@10 by alpha and beta."""
    sets = corpora(results)
    rows: dict[str, dict[str, Any]] = {}
    for set_, of in sets.items():
        for option, symbol in (("alpha", "α"), ("beta", "β")):
            for value, recall, _ in of["sweeps"].get(option, ()):
                rows.setdefault(f"{symbol} = {value:g}", {})[set_] = percent(recall)
    return Ours(about_corpora(sets) + " R@10 in percent.", rows)


def by_topology(results: Path) -> Ours:
    """Return R@10 by quartiles of the topological recall of the first ten nodes of vector search."""
    sets = corpora(results)
    rows: dict[str, dict[str, Any]] = {}
    for set_, of in sets.items():
        for label in ("Re2", "GAR", "FastInsight"):
            recalls = of["quarters"][GRAPH_METHODS[label]]
            rows[f"{label}, {set_}"] = {f"Q{at}": percent(recall) for at, recall in enumerate(recalls, 1)}
    return Ours(about_corpora(sets) + " Quarters of the questions by topological recall; percent.", rows)


# PathRAG

_PATHRAG = "published/ablations.py --data DIR --only pathrag"
SQUALITY = {
    "NaiveRAG": "vector", "HyDE": "hyde", "G-retriever": "g-retriever", "HippoRAG": "hipporag",
    "GraphRAG": "graphrag-local", "LightRAG": "lightrag-hybrid", "PathRAG": "pathrag",
}  # fmt: skip


def squality(results: Path) -> Ours:
    """Return the scores of quoted answers on SQuALITY."""
    of = read(results, "squality.json", "quality.py --data DIR --only long")
    names = ("BLEU-1", "BLEU-2", "ROUGE-1", "ROUGE-2", "METEOR")
    rows = {
        label: {name: percent(of["methods"][method][name]["mean"]) for name in names}
        for label, method in SQUALITY.items()
        if method in of["methods"]
    }
    return Ours(
        f"{of['questions']} questions on {of['stories']} stories; every answer is up to {of['words']} words quoted "
        f"from the first {of['passages']} passages, so that what differs is retrieval; GraphRAG is `graphrag-local`.",
        rows,
    )


def orders(form: str) -> Measure:
    """Return the measure of prompts: "order" for the orders of paths, "form" for paths against a flat list."""
    names = {
        "order": {"Flow-based": "paths, flow", "Hop-first": "paths, hop-first", "Random": "paths, random"},
        "form": {"Path-based": "paths, flow", "Flat": "flat, flow"},
    }[form]

    def measure(results: Path) -> Ours:
        sets = part(read(results, "pathrag.json", _PATHRAG), "sets", _PATHRAG)
        rows = {
            label: {
                f"{set_}: {column}": round(of["prompts"][name][key] * scale, 1)
                for set_, of in sets.items()
                for column, key, scale in (("tokens", "tokens", 1), ("place of gold, %", "their place", 100))
                if of["prompts"][name][key] is not None
            }
            for label, name in names.items()
        }
        return Ours(
            "Without a language model there is no answer to judge: estimated tokens of the prompt, and where in it the "
            "statements of gold passages stand, from the question (0) to the end (100).",
            rows,
        )

    return measure


def sparsity(results: Path) -> Ours:
    """Return recall@5 without 10 to 50 % of all edges."""
    sets = part(read(results, "pathrag.json", _PATHRAG), "sets", _PATHRAG)
    rows = {
        f"{method}, {set_}": {
            f"{float(share):.0%} gone": percent(float(np.mean(draws))) for share, draws in by_share.items()
        }
        for set_, of in sets.items()
        for method, by_share in of["sparsity"].items()
    }
    return Ours("recall@5 in percent, means over draws of the edges; there is no answer to judge offline.", rows)


# ReG

_FIGURES = ("macro F1", "micro F1", "Hit", "Hit@1")


def by_hops(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of each number of hops, in percent."""
    return {
        f"{hops}: {name}": percent(values[name])
        for hops, values in row.items()
        if isinstance(values, Mapping)
        for name in _FIGURES
    }


def reg(results: Path, *parts: str) -> Record:
    """Return the results of ReG. Raises NotMeasured where a part is missing."""
    command = f"published/reg.py --data DIR --only {' '.join(parts)}"
    of: Record = read(results, "reg.json", command)
    for name in parts:
        part(of, name, command)
    return of


def about_metaqa(of: Record) -> str:
    """Return what was asked, in two sentences."""
    asked = of["path"]["1 hops"]["questions"]
    return (
        f"MetaQA instead of Freebase, which is not at hand: {asked} dev questions of 1, 2 and 3 hops with given "
        f"entities, in percent. Labels are refined by similar questions, not by a language model; the answer is what "
        f"the best relation paths lead to."
    )


def compression(results: Path) -> Ours:
    """Return the number of candidates before and after merging."""
    labels = reg(results, "labels")["labels"]["explains"]
    return Ours(
        f"{labels['questions']:,} training questions of MetaQA.",
        {
            "Raw candidates": {"mean": labels["paths, mean"], "most": labels["paths, max"]},
            "Complexity control": {"mean": labels["candidates, mean"], "most": labels["candidates, max"]},
        },
    )


def reg_answers(results: Path) -> Ours:
    """Return the quality of the answers of each level, and of the systems compared."""
    of = reg(results, "path", "triple", "entity", "baselines")
    rows = {f"ReG@{level.title()}, offline": by_hops(of[level]) for level in ("triple", "entity", "path")}
    rows |= {f"{name}, offline": by_hops(row) for name, row in of["baselines"].items()}
    compared = next(iter(of["baselines"].values()))["1 hops"]["questions"]
    return Ours(f"{about_metaqa(of)} The systems compared: {compared} questions of each.", rows)


def reg_ablations(results: Path) -> Ours:
    """Return the ablations of both stages."""
    of = reg(results, "path", "triple", "entity", "weak")
    weak = of["weak"]
    rows = {
        "Triple, w/o S(I) & S(II)": weak["triple, not reorganised"],
        "Triple, w/o S(I)": weak["triple"],
        "Triple, w/o S(II)": weak["triple, refined, not reorganised"],
        "Triple, ReG": of["triple"],
        "Entity, ReG": of["entity"],
        "Path, w/o S(I)": weak["path"],
        "Path, ReG": of["path"],
    }
    return Ours(
        f"{about_metaqa(of)} The entity level was trained on refined labels only, so its ablations are not measured.",
        {n: by_hops(r) for n, r in rows.items()},
    )


def reg_refiners(results: Path) -> Ours:
    """Return the path retriever by its labels."""
    of = reg(results, "path", "weak", "united")
    rows = {
        "weak labels": of["weak"]["path"],
        "first refiner": of["path"],
        "second refiner": of["united"]["near alone"],
        "intersection": of["united"]["intersection"],
        "union": of["united"]["union"],
    }
    about = f"{about_metaqa(of)} The path level. The first refiner is NeighbourRefiner, the second CosineRefiner."
    return Ours(about, {name: by_hops(row) for name, row in rows.items()})


def reg_transfer(results: Path) -> Ours:
    """Return what retrievers do on questions of a kind they were not trained on."""
    of = reg(results, "pathquestion")["pathquestion"]
    rows = {}
    for set_ in ("pq-2h", "pql-2h"):
        for name in ("path", "triple", "path, trained on MetaQA"):
            trained = "" if "MetaQA" in name else f", trained on other relation paths of {set_}"
            rows[f"ReG, {set_}: {name}{trained}"] = {k: percent(of[set_][name][k]) for k in _FIGURES}
    from_pq = of["MetaQA, path trained on pq-2h"]
    for hops, values in from_pq.items():
        rows[f"ReG, MetaQA {hops}: path, trained on pq-2h"] = {k: percent(values[k]) for k in _FIGURES}
    return Ours(
        "PathQuestion, parted by the relation path that a question was made from, and retrievers carried over between "
        "it and MetaQA; GrailQA is not at hand. All were trained on refined labels, so the ablations are not measured.",
        rows,
    )


def reg_chains(results: Path) -> Ours:
    """Return the number and the size of chains by the number of triples."""
    of = reg(results, "budget")["budget"]
    names = ("chains", "tokens of chains", "tokens of triples")
    asked = next(iter(of.values()))["questions"]
    rows = {f"K = {k}": {name: round(row[name], 1) for name in names} for k, row in of.items()}
    return Ours(f"{asked} questions of MetaQA.", rows)


def reg_efficiency(results: Path) -> Ours:
    """Return quality by the share of the training set, and by the number of triples."""
    of = reg(results, "path", "shares", "budget")
    rows = {f"path level, {name} of the set": by_hops(row) for name, row in of["shares"].items()}
    for k, row in of["budget"].items():
        rows[f"triple level, K = {k}"] = {f"all hops: {name}": percent(row[name]) for name in _FIGURES}
    return Ours(f"{about_metaqa(of)} `explains`: refined labels, `weak`: shortest paths.", rows)


# LEGO-GraphRAG

_LEGO = "published/lego.py --data DIR --set {} --systems '*' --sweeps '*'"


def lego(results: Path) -> dict[str, Record]:
    """Return the summaries of all knowledge graphs."""
    sets: dict[str, Record] = read(results, "lego.json", _LEGO.format("metaqa"))
    return sets


def _about_lego(sets: Sequence[str]) -> str:
    return (
        f"{', '.join(sets)}; entities are given. L is the embedded cross-encoder, not a language model, and Hits@1 is "
        "whether the name that the first path leads to is an answer. Freebase is not at hand."
    )


def systems(names: Mapping[str, str], figures: Mapping[str, str], scale: float = 100) -> Measure:
    """Return the measure of systems: their names by row, and keys of their figures by column."""

    def measure(results: Path) -> Ours:
        sets, rows = lego(results), {}
        for label, name in names.items():
            row: dict[str, Any] = {}
            for set_, of in sets.items():
                own = of["systems"].get(of["called"].get(name, name), {})
                if own:
                    row[f"{set_} questions"] = own["questions"]
                for column, key in figures.items():
                    if key in own:
                        row[f"{set_} {column}"] = round(own[key] * scale, 3 if scale == 1 else 1)
            rows[label] = row
        return Ours(_about_lego(tuple(sets)), rows)

    return measure


_MODELS = ("BM25", "LSA", "LDA", "E", "F", "C", "G")
RETRIEVALS = {
    name: f"PPR / {name}"
    for name in ("SPR", "EPR", *(f"{kind}-{model}" for kind in ("OSAR", "ISAR") for model in _MODELS))
}
"""The retrievals of Figures 11 to 13 in the subgraph of a PPR; F and G are fine-tuned, as E and C are not."""
NUMBERED = {str(number): f"lego-{number}" for number in INSTANCES}


def kinds(results: Path) -> Ours:
    """Return Hits@1 by hops and by the number of answers."""
    metaqa = lego(results)["metaqa"]
    rows = {}
    for number, name in NUMBERED.items():
        own = metaqa["systems"].get(metaqa["called"].get(name, name))
        if own is not None:
            named = {"1 hop": "hops 1", "2 hops": "hops 2", "3 hops": "hops 3"}
            named |= {"one answer": "one answer", "several": "several answers"}
            rows[number] = {
                column: percent(own["by"][key]["pr hits@1"]) for column, key in named.items() if key in own["by"]
            }
    return Ours(_about_lego(["metaqa"]) + " Every question has one entity.", rows)


def swept(pattern: str) -> Measure:
    """Return the measure of sweeps whose names begin with one of some words: F1 and recall of the subgraph by size."""
    words = tuple(pattern.split())

    def measure(results: Path) -> Ours:
        rows: dict[str, dict[str, Any]] = {}
        for set_, of in lego(results).items():
            for name, sweep in of["sweeps"].items():
                if not name.startswith(words):
                    continue
                for size, point in sweep["points"].items():
                    rows[f"{set_}, {name}, {int(size):,}"] = {
                        "nodes": round(point["nodes"]), "F1": round(point["f1"], 4), "recall": round(point["recall"], 3)
                    }  # fmt: skip
        return Ours(_about_lego(tuple(lego(results))), rows)

    return measure


def by_paths(results: Path) -> Ours:
    """Return F1 by the number of paths."""
    counts = (1, 2, 4, 8, 16, 32, 64, 128)
    rows = {}
    for set_, of in lego(results).items():
        for name in RETRIEVALS.values():
            if name in of["systems"]:
                values = of["systems"][name]["pr f1 by paths"]
                rows[f"{set_}, {name}"] = {str(n): round(v, 3) for n, v in zip(counts, values, strict=True)}
    return Ours(_about_lego(tuple(lego(results))), rows)


def ppr_scale(results: Path) -> Ours:
    """Return the time of our PPR by the size of the graph."""
    of = read(results, "ppr_scale.json", "kernels.py --data DIR --only scale")
    rows = {
        f"{row['nodes']:,}": {"edges": row["edges"], "s": row["p50_ms"] / 1e3, "recall of 1,000": row["recall"],
                              "s, power iteration": row["exact_s"]}
        for row in of.values()
    }  # fmt: skip
    return Ours("Synthetic graphs of the same sizes with heavy-tailed degrees; p50 of a question, one thread.", rows)


def ppr_recall(results: Path) -> Ours:
    """Return recall and time of our PPR."""
    scale = read(results, "ppr_scale.json", "kernels.py --data DIR --only scale")
    rows = {
        f"push until the best are stable, {row['nodes']:,} nodes": {"recall": row["recall"], "s": row["p50_ms"] / 1e3}
        for row in scale.values()
    }
    return Ours("Recall of the best nodes by exact PPR, on synthetic graphs.", rows)


def accelerated(results: Path) -> Ours:
    """Return the extractions made faster beforehand."""
    metaqa = lego(results)["metaqa"]
    rows = {}
    names = {
        "Precomputation": "communities / SPR",
        "Precomputation, and the best by vector": "communities by vectors / SPR",
        "Vector Database": "triples by vectors / SPR",
        "Vector Database, of nodes": "names by vectors / SPR",
        "Standard PPR": "PPR / SPR",
    }
    for label, name in names.items():
        own = metaqa["systems"].get(name)
        if own is not None:
            rows[label] = {
                "s before": round(metaqa["before"].get(name, 0.0), 1), "s": own["se ms p50"] / 1e3,
                "recall": round(own["se recall"], 3), "F1": round(own["se f1"], 4),
                "components": round(own["se components"], 1),
            }  # fmt: skip
    return Ours(_about_lego(["metaqa"]) + " Communities are of at most 1,000 nodes.", rows)


FROM_RESULTS: dict[str, dict[str, Measure]] = {
    "fastinsight": {
        "Table 2": sizes, "Table 3": retrieval, "Table 6": gains, "Figure 4": curves(1), "Figure 5": by_topology,
        "Figure 6": curves(3), "Figure 7": sensitivity,
    },
    "pathrag": {"Table 2": orders("order"), "Table 3": orders("form"), "Table 4": squality, "Figure 3": sparsity},
    "reg": {
        "Table 1": compression, "Table 2": reg_answers, "Table 3": reg_answers, "Table 4": reg_ablations,
        "Table 6": reg_refiners, "Table 7": reg_transfer, "Figure 2": reg_chains, "Figure 4": reg_efficiency,
        "Figure 5": reg_ablations,
    },
    "lego": {
        "Table 3": systems(
            {"LEGO-RoG (ChatGPT)": "rog", "LEGO-KELP (gpt-4o-mini)": "kelp", "LEGO-ToG (Llama3-8B)": "tog"},
            {"Hits@1": "pr hits@1", "recall": "pr recall"},
        ),
        "Table 4": ppr_scale, "Table 6": ppr_recall, "Table 7": accelerated,
        "Figure 2": systems(NUMBERED, {"Hits@1": "pr hits@1", "F1": "pr f1"}),
        "Figure 3": systems(NUMBERED | {"GRAG-M": "grag-m"}, {"Hits@1": "pr hits@1"}),
        "Figure 4": systems(NUMBERED, {"MB": "pr peak MB"}, 1),
        "Figure 5": systems(NUMBERED, {"SE s": "se ms p50", "PR s": "pr ms p50"}, 1e-3),
        "Figure 6": systems(NUMBERED, {"SE tokens": "se tokens", "PR tokens": "pr tokens"}, 1),
        "Figure 7": kinds, "Figure 8": swept("RW KSE PPR"), "Figure 9": swept("NP EP TP"), "Figure 12": by_paths,
        "Figure 11": systems(
            RETRIEVALS,
            {"F1": "pr f1"},
        ),
        "Figure 13": systems(
            RETRIEVALS,
            {"s": "pr ms p50"}, 1e-3,
        ),
    },
}  # fmt: skip
"""The measure of each table that other benchmarks have the figures of."""
