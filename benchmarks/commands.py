"""The commands that make every table: what they cost, whether they measure time, and which results they write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias

Words: TypeAlias = tuple[str, ...]

QUESTIONS = {"recall": 500, "light": 100, "rerankers": 12, "subgraph": 4, "lego": 200}
"""Questions of each set in the tables of `quality.py`, and of LEGO-GraphRAG."""
BY_HAND = {
    "scorer": "scripts/fit_scorer.py --tables (fits the scorer anew; torch, lightgbm)",
    "reader": "answers.py --readers FOLDER (readers of the folds, which are trained)",
    "llm": "llm.py --llm MODEL --base-url URL (a server of a language model)",
    "tuned": "tune.py --base FOLDER (sentence-transformers)",
    "ppr_scale": "kernels.py --only scale --sizes 10m 100m (60 GB of disk)",
    "peers": "peers.py (installs other systems; an hour or more)",
    "scale": "scale.py --sizes 100000 1000000 (hours)",
}
"""Results, by the name of their file, that `all.py` does not make, or not all of: they need models that are trained or
served first, or hours."""


@dataclass(frozen=True)
class Command:
    """A call of a benchmark.

    `minutes`: of one core, roughly; `timed`: whether it measures time, and so must run alone; `writes`: the parts of
    results, each a file and the keys in it; `after`: names of the commands whose results or rows it reads, or patterns
    of them; `data`: the folders of DIR that it reads.
    """

    name: str
    arguments: tuple[str, ...]
    minutes: float
    writes: tuple[tuple[str, ...], ...] = ()
    timed: bool = False
    after: tuple[str, ...] = ()
    data: tuple[str, ...] = ()

    def fits(self, pattern: str) -> bool:
        """Return whether a name of a script, the beginning of a name, or a pattern is this one's."""
        return self.name == pattern or self.name.startswith(f"{pattern} ") or fnmatchcase(self.name, pattern)

    def follows(self, other: Command) -> bool:
        """Return whether this one reads what another one writes."""
        return other is not self and any(other.fits(pattern) for pattern in self.after)


def commands() -> list[Command]:
    """Return all commands, the dear ones first within what measures no time."""
    every = [*_quality(), *_lego(), *_reg(), *_published(), *_others(), *_timed(), *_papers()]
    return sorted(every, key=lambda command: (command.timed, -command.minutes if not command.timed else 0))


def _quality() -> Iterator[Command]:
    limit = ("--questions", str(QUESTIONS["recall"]))
    for name, cost in {"hotpotqa": 25.0, "2wiki": 18.0, "musique": 9.0, "hotpotqa100": 4.5}.items():
        call: Words = ("quality.py", "--only", "multihop", "--sets", name, *limit, "--rows-only")
        yield Command(f"quality multihop {name}", call, cost, data=("multihop",))
    yield Command(
        "quality multihop", ("quality.py", "--only", "multihop", *limit), 2.0, (("recall.json",),),
        after=("quality multihop ?*",), data=("multihop",),
    )  # fmt: skip
    light = {"scifact": 14.0, "metaqa 1 hop": 10.0, "metaqa 2 hops": 9.0, "metaqa 3 hops": 9.0, "cora": 6.0}
    light |= {"cranfield": 6.0, "cisi": 6.0, "musique": 3.0, "hotpotqa": 3.0, "2wiki": 3.0, "pq-2h": 1.5, "pql-2h": 2.0}
    subgraph = {"metaqa 1 hop": 1.0, "metaqa 2 hops": 0.8, "metaqa 3 hops": 0.7, "pq-2h": 0.3, "pql-2h": 0.3}
    rerankers = {"hotpotqa": 3.0} | dict.fromkeys(subgraph, 0.8)
    for part, costs in (("light", light), ("rerankers", rerankers), ("subgraph", subgraph)):
        option = "--questions" if part == "light" else "--few"
        for name, cost in costs.items():
            call = ("quality.py", "--only", part, "--overview-sets", name, option, str(QUESTIONS[part]))
            folder = "kgqa" if name in subgraph else _folder(name)
            yield Command(f"quality {part} {name}", call, cost, (("overview.json", name, part),), data=(folder,))
    stories = ("quality.py", "--only", "long", "--stories", "50")
    yield Command("quality long", stories, 16.0, (("squality.json",),), data=("long",))


def _folder(name: str) -> str:
    """Return the folder of a set of documents."""
    return "multihop" if name in ("hotpotqa", "hotpotqa100", "2wiki", "musique", "musique-openie") else "ir"


def _lego() -> Iterator[Command]:
    asked = ("--systems", "*", "--sweeps", "*", "--questions", str(QUESTIONS["lego"]))
    for name, cost in {"metaqa": 100.0, "pq-2h": 60.0, "pql-2h": 9.0}.items():
        writes = tuple(("lego.json", name, part) for part in ("systems", "sweeps", "pairs"))
        yield Command(f"lego {name}", ("published/lego.py", "--set", name, *asked), cost, writes, data=("kgqa",))
    plans = ("published/lego.py", "--plans", "--each", "50")
    yield Command("lego plans", plans, 2.0, (("lego_plans.json",),), data=("kgqa",))
    quiet = ("--quiet", "--systems", "lego-*", "PPR / *", "PPR+EP-? / *", "--questions", "20", "--dear", "4")
    yield Command(
        "lego quiet", ("published/lego.py", "--set", "metaqa", *quiet), 5.0, (("lego.json", "metaqa", "quiet"),), True,
        ("lego metaqa",), ("kgqa",),
    )  # fmt: skip
    yield Command("lego page", ("published/lego.py", "--page"), 0.2, (("lego.md",),), after=("lego *",))


def _reg() -> Iterator[Command]:
    minutes = {
        "labels": 2.0, "sample": 0.4, "path": 1.8, "triple": 4.0, "entity": 4.0, "most": 9.0, "weak": 6.0,
        "shares": 5.0, "united": 4.0, "budget": 2.5, "baselines": 2.0, "pathquestion": 4.0, "seeds": 6.0,
    }  # fmt: skip
    after: dict[str, Words] = {"labels": (), "baselines": ("reg path", "reg triple", "reg entity", "reg weak")}
    trained = {"weak": "triple", "budget": "triple", "pathquestion": "path", "united": "path"}
    after |= {part: ("reg labels", f"reg {level}") for part, level in trained.items()}
    for part, cost in minutes.items():
        call = ("published/reg.py", "--only", part, "--train", "400", "--questions", "200")
        yield Command(
            f"reg {part}", call, cost, (("reg.json", part),), after=after.get(part, ("reg labels",)), data=("kgqa",)
        )


def _published() -> Iterator[Command]:
    for part, costs, keys in (
        ("bubblerag", {"musique-openie": 3.0, "2wiki": 4.0}, ()),
        ("pathrag", dict.fromkeys(("musique-openie", "hotpotqa100", "2wiki", "hotpotqa"), 3.0), ("sets",)),
    ):
        for name, cost in costs.items():
            call: Words = ("published/ablations.py", "--only", part, "--sets", name, "--questions", "100")
            writes = ((f"{part}.json", *keys, name),)
            yield Command(f"ablations {part} {name}", call, cost, writes, data=("multihop",))
    for name, cost in {"musique": 12.0, "2wiki": 12.0, "musique-openie": 12.0}.items():
        call = ("oracle.py", "--sets", name, "--questions", "50")
        yield Command(f"oracle {name}", call, cost, (("oracle.json", name),), data=("multihop",))
    yield Command("references", ("published/references.py",), 0.3, (("references.json",),), data=("ir",))
    corpora = {"scifact": 6.0} | dict.fromkeys(("cisi", "cora", "musique", "hotpotqa100", "scifact-entities"), 3.0)
    for name, cost in corpora.items():
        call = ("published/fastinsight.py", "--sets", name, "--questions", "50")
        yield Command(f"fastinsight {name}", call, cost, ((f"corpora/{name}.json",),), data=(_folder(name),))


def _others() -> Iterator[Command]:
    for name in ("squad", "nq", "medquad", "scifact", "cisi", "cranfield", "musique", "hotpotqa100"):
        folder = "qa" if name in ("squad", "nq", "medquad") else _folder(name)
        call: Words = ("embedded/blend.py", "--sets", name, "--limit", "160")
        yield Command(f"blend {name}", call, 3.0 if folder == "qa" else 1.5, (("blend.json", name),), data=(folder,))
    for name, cost in {
        "hotpotqa": 4.0, "hotpotqa100": 2.3, "2wiki": 4.0, "musique": 2.7, "scifact": 3.5, "cisi": 2.0,
        "cranfield": 2.5,
    }.items():  # fmt: skip
        call = ("models.py", "--only", "rank", "--sets", name, "--limit", "100")
        yield Command(f"models rank {name}", call, cost, (("reading.json", name, "rank"),), data=(_folder(name),))
    for name, script, cost, writes in (
        ("extraction tokens", "embedded/extraction.py", 0.3, ("extraction.json",)),
        ("extraction resolution", "embedded/extraction.py", 2.0, ("resolution.json",)),
        ("mentions labels", "embedded/mentions.py", 0.2, ("mentions.json", "labels")),
    ):
        yield Command(name, (script, "--only", name.split()[1]), cost, (writes,), data=("multihop",))
    yield Command("shards", ("serving/shards.py",), 1.0, (("shards.json",),), data=("multihop",))
    yield Command("kernels steiner", ("kernels.py", "--only", "steiner"), 0.3, (("steiner.md",),))
    for name, cost in {"documents": 3.0, "graphs": 1.0, "records": 0.3, "office": 1.0}.items():
        call = ("everyday.py", name, "--half", "both")
        yield Command(f"everyday {name}", call, cost, ((f"everyday-{name}.json",),))
    languages = ("ar", "de", "es", "fr", "ja", "ko", "pl", "ru", "uk", "zh")
    for name, encoder, sets, cost in (
        ("languages", "multilingual", languages, 6.0), ("languages minilm", "minilm", ("it", "pt-br"), 2.0)
    ):  # fmt: skip
        call = ("languages.py", "--sets", *sets, "--encoders", encoder, "--pages", "60")
        yield Command(name, call, cost, (("languages.json", encoder),))
    for part, cost in {"asked": 2.0, "read": 3.0, "damaged": 2.0}.items():
        yield Command(f"formats {part}", ("formats.py", "--only", part), cost, (("formats.json", part),))
    faults: dict[str, tuple[float, Words]] = {
        "blocks": (0.5, ("--nodes", "500000")), "commands": (0.7, ()),
        "crash": (10.0, ("--draws", "3", "--minutes", "20")),
        "damage": (3.0, ("--minutes", "3")), "fuzz": (0.7, ()), "kills": (1.5, ("--kills", "20")), "llm": (0.7, ()),
        "load": (2.0, ("--queries", "1000", "--mixed", "10000")), "server": (0.7, ("--servers", "4")),
    }  # fmt: skip
    for part, (cost, options) in faults.items():
        call = ("faults.py", "--only", part, "--minutes", "0.5", *options)
        yield Command(f"faults {part}", call, cost, ((f"faults-{part}.json",),), data=("multihop",))


def _timed() -> Iterator[Command]:
    both, multihop = ("multihop", "kgqa"), ("multihop",)
    parts: tuple[tuple[str, str, Words, float, Words, Words], ...] = (
        ("latency retrieve", "latency.py", ("--questions", "60"), 6.0,
         ("latency-hotpotqa.json", "latency-musique.json"), multihop),
        ("latency index", "latency.py", (), 7.0, ("indexing.json",), multihop),
        ("latency update", "latency.py", (), 5.0, ("updates.json",), multihop),
        ("latency testbed", "latency.py", ("--questions", "60", "--heavy", "3"), 7.0, ("testbed.json",), both),
        ("processes commands", "serving/processes.py", (), 2.0, ("processes.json",), multihop),
        ("processes readers", "serving/processes.py", (), 8.0, ("readers.json",), multihop),
        ("kernels ppr", "kernels.py", (), 8.0, ("ppr.json",), ("graphs",)),
        ("kernels flow", "kernels.py", (), 3.0, ("flow.json",), ()),
        ("kernels bubble", "kernels.py", (), 4.0, ("bubble.json",), multihop),
        ("models encoder", "models.py", (), 7.0, ("encoder.json",), multihop),
    )  # fmt: skip
    for name, script, options, cost, files, folders in parts:
        call: Words = (script, "--only", name.split()[1], *options)
        yield Command(name, call, cost, tuple((file,) for file in files), True, data=folders)
    for size, cost in {"100k": 1.0, "1m": 3.0}.items():
        call = ("kernels.py", "--only", "scale", "--sizes", size)
        yield Command(f"kernels scale {size}", call, cost, (("ppr_scale.json", size),), True)
    for part, cost in {
        "overhead": 4.0,
        "load": 1.0,
        "processes": 2.0,
        "events": 1.0,
        "idle": 1.0,
        "memory": 4.0,
    }.items():
        call = ("serve.py", "--only", part, "--minutes", "3")
        yield Command(f"serve {part}", call, cost, (("serve.json", part),), True, data=multihop)
    yield Command("adapters", ("serving/adapters.py",), 1.0, (("adapters.json",),), True)
    yield Command(
        "models speed", ("models.py", "--only", "speed", "--sets", "hotpotqa"), 1.0,
        (("reading.json", "hotpotqa", "speed"),), True, ("models rank hotpotqa",), multihop,
    )  # fmt: skip
    speed = ("embedded/mentions.py", "--only", "speed")
    yield Command("mentions speed", speed, 1.0, (("mentions.json", "speed"),), True, data=multihop)
    for name, cost in {"metaqa": 3.5, "pq-2h": 2.0, "hotpotqa100": 3.0}.items():
        call = ("methods.py", "--sets", name, "--questions", "20", "--seconds", "5")
        folder = "multihop" if name == "hotpotqa100" else "kgqa"
        yield Command(f"methods {name}", call, cost, (("methods.json", name),), True, data=(folder,))
    sizes = ("1000", "10000")
    writes = tuple(("scale.json", size) for size in sizes)
    yield Command("scale", ("scale.py", "--sizes", *sizes), 4.0, writes, True, data=multihop)


def _papers() -> Iterator[Command]:
    """Yield the tables of the papers, after the benchmarks that they read."""
    folders: dict[str, Words] = {"bubblerag": ("multihop",), "lego": ("kgqa",), "reg": ()}
    after: dict[str, Words] = {
        "fastinsight": ("fastinsight",), "lego": ("lego", "kernels"), "pathrag": ("ablations pathrag", "quality long"),
        "reg": ("reg",),
    }  # fmt: skip
    for name, cost in {"bubblerag": 3.0, "fastinsight": 1.5, "lego": 10.0, "pathrag": 2.0, "reg": 0.3}.items():
        asked = str(QUESTIONS.get(name, 30))
        yield Command(
            f"papers {name}", ("papers.py", "--paper", name, "--questions", asked, "--untimed"), cost,
            ((f"papers-{name}.json",),), after=after.get(name, ()), data=folders.get(name, ("long", "multihop")),
        )  # fmt: skip
