"""The figures of benchmarks/corpora.py, of what it summarised."""

from functools import partial

import numpy as np

NAMES = {"recall": "recall@10", "ndcg": "nDCG@10"}
COLOURS = {"rerank": "#7f7f7f", "gar": "#1f77b4", "fastinsight": "#d62728"}
STARTING_ALIKE = ("rerank (vector)", "gar (vector)", "fastinsight")
GAINING = ("gar (vector)", "fastinsight")
USUAL = {"alpha": 0.2, "beta": 1.0}
COLUMNS = 4


def style(name):
    """Colour by method; methods that begin with words too are drawn broken, and what lies below others wide."""
    method = name.removesuffix(" (vector)")
    vector = name != method or method == "fastinsight"
    look = {"linestyle": "-" if vector else "--", "linewidth": 2.6 if method == "rerank" else 1.4}
    return look | {"color": COLOURS[method], "label": method if vector else f"{method}, words too"}


def grid(plt, summaries):
    """Return a figure and a panel for each set."""
    columns = min(len(summaries), COLUMNS)
    rows = -(-len(summaries) // columns)
    size = (max(3.4 * columns, 6.2), 3.2 * rows + 0.4)
    figure, panels = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for panel in panels.flat[len(summaries) :]:
        panel.axis("off")
    for panel, summary in zip(panels.flat, summaries, strict=False):
        panel.set_title(summary["set"])
        panel.grid(alpha=0.3)
    return figure, panels.flat[: len(summaries)]


def legend(figure, panel):
    handles, labels = panel.get_legend_handles_labels()
    columns = 5 if figure.get_figwidth() > 8 else 3
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def curves(plt, summaries, column, across, up):
    """Draw column `column` of each method's curve (read, recall, nDCG, TR) against the passages read."""
    figure, panels = grid(plt, summaries)
    for panel, summary in zip(panels, summaries, strict=True):
        for name, curve in summary["curves"].items():
            points = np.array(curve)
            panel.plot(points[:, 0], 100 * points[:, column], marker=".", **style(name))
        panel.set(xlabel=across, ylabel=up, xlim=(0, 105))
    legend(figure, panels[0])
    return figure


def gained(plt, summaries):
    """Each question a faint point; a line through the means of five groups of equally many questions."""
    figure, panels = grid(plt, summaries)
    for panel, summary in zip(panels, summaries, strict=True):
        told = []
        for name in GAINING:
            points = 100 * np.array([row["gain"][name] for row in summary["rows"]])
            missed, gain, look = points[:, 1], points[:, 2], style(name)
            r = summary["correlations"][name]["missed"]
            told.append(f"{look['label']} {'none' if r is None else f'{r:.2f}'}")
            panel.scatter(missed, gain, s=12, alpha=0.25, color=look["color"], linewidths=0)
            groups = [group for group in np.array_split(np.argsort(missed, kind="stable"), 5) if len(group)]
            means = [(missed[group].mean(), gain[group].mean()) for group in groups]
            panel.plot(*zip(*means, strict=True), marker="o", markersize=5, color=look["color"], label=look["label"])
        panel.set(xlabel="MissTR of the first batch, %", ylabel="recall gained, points")
        panel.set_title(f"{summary['set']}\nr: {', '.join(told)}", fontsize=10)
    legend(figure, panels[0])
    return figure


def quartiles(plt, summaries):
    """Recall@10 of each quarter of the questions, by the topological recall of the method's first batch."""
    figure, panels = grid(plt, summaries)
    for panel, summary in zip(panels, summaries, strict=True):
        for name in (name for name in STARTING_ALIKE if name in summary["curves"]):
            at_first = np.array([sum(row["gain"][name][:2]) for row in summary["rows"]])
            recall = np.array([row["methods"][name][0] for row in summary["rows"]])
            groups = np.array_split(np.argsort(at_first, kind="stable"), 4)
            panel.plot(range(4), [100 * recall[group].mean() for group in groups], marker="o", **style(name))
            panel.set_xticks(
                range(4), [f"Q{at + 1}\n{100 * at_first[group].mean():.0f}" for at, group in enumerate(groups)]
            )
        panel.set(xlabel="quartile of TR of the first batch, its mean in %", ylabel="recall@10, %")
    legend(figure, panels[0])
    return figure


def sensitivity(plt, summaries):
    """What another alpha or beta changes, in points; the sets' own levels are too far apart for one scale."""
    figure, panels = plt.subplots(2, 2, figsize=(9, 6.8), sharex="col", layout="constrained")
    for column, option in enumerate(USUAL):
        for row, metric in enumerate(NAMES):
            panel, every = panels[row, column], []
            for summary in summaries:
                points = np.array(summary["sweeps"][option])
                usual = points[points[:, 0] == USUAL[option], 1 + row]
                every.append(100 * (points[:, 1 + row] - usual))
                panel.plot(points[:, 0], every[-1], marker=".", label=summary["set"])
            if len(every) > 1:
                panel.plot(points[:, 0], np.mean(every, axis=0), "k", linewidth=2.5, label="average")
            panel.axvline(USUAL[option], color="gold", linewidth=8, alpha=0.4, zorder=0)
            panel.set_ylabel(f"{NAMES[metric]}, points against the default")
            panel.set_xlabel(option if row else "")
            panel.grid(alpha=0.3)
    legend(figure, panels[0, 0])
    return figure


def draw(summaries, out):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figures = {
        "pareto-recall": partial(curves, column=1, across="passages read", up="recall@10, %"),
        "pareto-ndcg": partial(curves, column=2, across="passages read", up="nDCG@10, %"),
        "tr": partial(curves, column=3, across="passages read", up="topological recall, %"),
        "tr-recall": quartiles,
        "gain": gained,
    }
    if all(summary["sweeps"] for summary in summaries):
        figures["sensitivity"] = sensitivity
    for name, make in figures.items():
        figure = make(plt, summaries)
        figure.savefig(out / f"{name}.png", dpi=110)
        plt.close(figure)
