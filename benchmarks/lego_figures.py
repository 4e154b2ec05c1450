"""The figures of benchmarks/lego.py, of what it summarised: numbered as in LEGO-GraphRAG, redrawn from our runs."""

import numpy as np
from lego_systems import WAYS

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


def pair(panels, title):
    for panel, up in zip(panels, ("F1, %", "recall, %"), strict=True):
        panel.set(xlabel="nodes of the subgraph, mean", ylabel=up, xscale="log")
        panel.set_title(title, fontsize=9)
        panel.grid(alpha=0.3)
    panels[1].axhline(ENOUGH, color="gold", linewidth=6, alpha=0.4, zorder=0)
    panels[1].set_ylim(0, 103)


def curve(panels, points, **look):
    """Draw F1 and recall against the size."""
    held = sorted(points, key=lambda point: point["nodes"])
    sizes = [point["nodes"] for point in held]
    for panel, name in zip(panels, ("f1", "recall"), strict=True):
        panel.plot(sizes, [100 * point[name] for point in held], marker=".", **look)


def by_structure(plt, found):
    """Draw figure 8, a row for each set."""
    sets = {name: held["sweeps"] for name, held in found.items() if "PPR" in held["sweeps"]}
    figure, rows = plt.subplots(len(sets), 2, figsize=(9, 3.1 * len(sets) + 0.5), squeeze=False, layout="constrained")
    for (name, sweeps), panels in zip(sets.items(), rows, strict=True):
        pair(panels, f"{name}, {sweeps['PPR']['questions']} questions")
        for method, (colour, line, label) in STRUCTURE.items():
            of = [sweep["points"].values() for at, sweep in sweeps.items() if at.split(" ")[0] == method]
            points = [point for some in of for point in some]
            curve(panels, points, color=colour, linestyle=line, label=label)
    legend(figure, rows[0][0], 2)
    return figure


def by_model(plt, found):
    """Draw figure 9: what is left of PPR-1000 when nodes, relations or triples are pruned by each model."""
    sweeps = found["metaqa"]["sweeps"]
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
    counts = set()
    for pruning, (what, line) in PRUNINGS.items():
        for model, colour in list(MODELS.items())[:3]:
            sweep = sweeps.get(f"{pruning} by {model}")
            if sweep is not None:
                counts.add(sweep["questions"])
                label = f"{pruning} ({what}) by {model}"
                curve(panels, sweep["points"].values(), color=colour, linestyle=line, label=label)
    asked = f"{min(counts)} questions" if len(counts) == 1 else f"{min(counts)} to {max(counts)} questions"
    pair(panels, f"metaqa, {asked}")
    legend(figure, panels[0], 3)
    return figure


def by_retrieval(plt, found, cells):
    """Draw figure 11: F1 of 32 paths for each way to retrieve, on the graphs of three extractions."""
    systems = found["metaqa"]["systems"]
    methods = list(WAYS)
    figure, panel = plt.subplots(figsize=(10, 3.9), layout="constrained")
    for at, (searched, (label, colour)) in enumerate(SEARCHED.items()):
        there = [(i, systems[cells[searched, m]]) for i, m in enumerate(methods) if cells.get((searched, m)) in systems]
        if not there:
            continue
        places = [i + 0.27 * (at - 1) for i, _ in there]
        high = np.array([100 * system["pr f1"] for _, system in there])
        ends = 100 * np.array([system["pr f1 interval"] for _, system in there])
        spread = np.abs(ends.T - high)
        panel.bar(places, high, 0.25, color=colour, label=label, yerr=spread, ecolor="#444444", capsize=2)
        for place, system, end in zip(places, there, ends[:, 1], strict=True):
            panel.text(place, end + 0.4, system[1]["questions"], ha="center", fontsize=6.5, color="#555555")
    panel.set_xticks(range(len(methods)), [method.replace("-", "\n") for method in methods], fontsize=8)
    panel.set_ylabel("F1 of 32 paths, %")
    panel.set_title("metaqa; over the bars the number of questions, lines are 95 % intervals", fontsize=9)
    panel.grid(alpha=0.3, axis="y")
    panel.set_axisbelow(True)
    legend(figure, panel, 3)
    return figure


def by_paths(plt, found, cells):
    """Draw figure 12: F1 against the number of paths, on PPR-1000."""
    systems = found["metaqa"]["systems"]
    figure, panel = plt.subplots(figsize=(7.6, 4.4), layout="constrained")
    for (searched, retrieval), name in cells.items():
        if searched == "PPR" and name in systems and retrieval in (*WAYS, *OURS_SHOWN):
            along = np.array(systems[name]["pr f1 by paths"])
            # Beyond what a beam search gives there is nothing more to draw.
            most = max(i for i in range(len(along)) if not i or along[i] != along[i - 1])
            label = f"{retrieval} ({systems[name]['questions']})"
            panel.plot(COUNTS[: most + 1], 100 * along[: most + 1], marker=".", label=label, **look(retrieval))
    panel.set(xlabel="paths", ylabel="F1, %", xscale="log")
    panel.set_xticks(COUNTS, COUNTS)
    panel.minorticks_off()
    panel.set_title("metaqa, paths in PPR-1000; in brackets the number of questions", fontsize=9)
    panel.grid(alpha=0.3)
    legend(figure, panel, 3)
    return figure


def look(retrieval):
    """Colour by model, line by method."""
    method, _, by = retrieval.partition("-")
    return {
        "color": MODELS.get(by, "#222222" if method == "SPR" else "#8c564b"),
        "linestyle": "-" if method in ("SPR", "OSAR") else "--",
    }


def legend(figure, panel, columns):
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)


def draw(found, cells, out):
    """Draw all figures; return the names of the files."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    made = {
        "lego-8.png": lambda: by_structure(plt, found),
        "lego-9.png": lambda: by_model(plt, found),
        "lego-11.png": lambda: by_retrieval(plt, found, cells),
        "lego-12.png": lambda: by_paths(plt, found, cells),
    }
    for name, make in made.items():
        figure = make()
        figure.savefig(out / name, dpi=110)
        plt.close(figure)
    return list(made)
