"""Other systems beside graphwright in one run: time, calls of models, memory, disk, one change, and recall.

    python benchmarks/peers.py --data DIR [--work FOLDER] [--systems NAME ...] [--sizes 1890 20000] [--minutes 60]

Each system is installed in an environment of its own below FOLDER, and driven by its own Python (`drivers`). All get
the same passages (MuSiQue's, then those of other sets), the same encoder, and the same triples from a language model
that answers at once (`drivers/scripted_model.py`), so that what is measured is what the systems do beside the models.
One system runs at a time. Rows are kept for each system and size, and a run goes on where it stopped; a system that
failed or took longer than `--minutes` is tried again where `--systems` names it. Writes `peers.json` and `peers.md`.

CPU builds of PyTorch come from an index of their own: set PIP_EXTRA_INDEX_URL where pip does not find them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from drivers.scripted_model import Script, ScriptedModels
from harness import Record, Rows, arguments, multihop_questions, parse, percent, read_results, table, update_results
from stamps import state, write_text

from graphwright.extract import Excerpt, MentionExtractor
from graphwright.models.cache import CachedEncoder
from graphwright.models.embedded.encoder import MiniLM

DRIVERS = Path(__file__).parent / "drivers"
TORCH = "torch==2.13.0+cpu"
LIMIT = 15  # passages of a question
FEWEST = 40  # passages
MORE = ("multihop/hotpotqa", "multihop/2wiki", "ir/scifact", "ir/cora", "ir/cisi", "ir/cranfield")
"""Sets whose passages are added to those of MuSiQue."""


@dataclass(frozen=True)
class Peer:
    """A system: its name in the package index, and the calls of pip that install it."""

    distribution: str
    pip: tuple[tuple[str, ...], ...]


PEERS: Mapping[str, Peer] = {
    "graphwright": Peer("graphwright", ((str(DRIVERS.parents[1]),),)),
    "bm25s": Peer("bm25s", (("bm25s", "PyStemmer"),)),
    "txtai": Peer("txtai", ((TORCH, "txtai", "openai"),)),
    "pyterrier": Peer("pyterrier", (("pyterrier-pisa",),)),
    "llamaindex": Peer(
        "llama-index-core",
        (("llama-index-core", "llama-index-llms-openai-like", "llama-index-embeddings-openai-like"),),
    ),
    "fast-graphrag": Peer("fast-graphrag", (("fast-graphrag", "sentencepiece<0.2.1"),)),
    "nano-graphrag": Peer("nano-graphrag", (("nano-graphrag",),)),
    # Its pins include vLLM, which needs a GPU.
    "hipporag": Peer(
        "hipporag",
        (
            (TORCH, "transformers==4.45.2", "openai", "litellm", "python-igraph", "networkx", "tiktoken", "pydantic"),
            ("tenacity", "einops", "tqdm", "boto3", "filelock", "pandas", "pyarrow", "scipy"),
            ("--no-deps", "hipporag==2.0.0a4", "gritlm"),
        ),
    ),
    "lightrag": Peer("lightrag-hku", (("lightrag-hku", "openai"),)),
}


class FailedError(Exception):
    """A system could not be installed, or did not do its task; the message is for the table."""


def installed(name: str, folder: Path) -> Path:
    """Return the Python of a system, in a new environment where there is none of this description.

    Raises FailedError with the last line of pip.
    """
    peer, environment = PEERS[name], folder / name
    described = json.dumps([peer.pip, state() if name == "graphwright" else ""])
    mark, python = environment / "installed.json", environment / "bin" / "python"
    if mark.exists() and mark.read_text(encoding="utf-8") == described:
        return python
    shutil.rmtree(environment, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    for packages in peer.pip:
        call = [str(python), "-m", "pip", "install", "-q", "--no-cache-dir", *packages]
        done = subprocess.run(call, capture_output=True, text=True)
        if done.returncode:
            raise FailedError(f"pip: {_last_line(done.stderr)}")
    mark.write_text(described, encoding="utf-8")
    return python


def tokenizer_files(folder: Path) -> Path:
    """Return a folder of tiktoken's files, which some systems would fetch when they run; litellm ships them."""
    target = folder / "litellm"
    if not target.exists():
        call = [sys.executable, "-m", "pip", "install", "-q", "--no-cache-dir", "--no-deps", "--target", str(target)]
        subprocess.run([*call, "litellm"], check=True)
    return target / "litellm" / "litellm_core_utils" / "tokenizers"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no message"


def measured(name: str, python: Path, task: Record, seconds: float, environment: Mapping[str, str]) -> Record:
    """Return what a driver measured. Raises FailedError where it ends with an error or takes too long."""
    with tempfile.TemporaryDirectory(dir=task["folder"]) as scratch:
        paths = {part: Path(scratch) / f"{part}.json" for part in ("task", "out")}
        paths["task"].write_text(json.dumps(task | {"folder": scratch, "out": str(paths["out"])}), encoding="utf-8")
        call = [python, DRIVERS / f"{name.replace('-', '_')}_driver.py", paths["task"]]
        given = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        with (Path(scratch) / "log").open("w+") as log:
            try:
                done = subprocess.run(
                    call, cwd=scratch, env={**given, **environment}, stdout=log, stderr=log, timeout=seconds
                )
            except subprocess.TimeoutExpired:
                raise FailedError(f"did not end within {seconds / 60:.0f} minutes") from None
            log.seek(0)
            if done.returncode or not paths["out"].exists():
                raise FailedError(_last_line(log.read()))
        row: Record = json.loads(paths["out"].read_text(encoding="utf-8"))
    return row


# Results


def summary(row: Record, gold: Sequence[Sequence[str]]) -> Record:
    """Return the figures of a row; `gold`: the ids of the passages that each question needs."""
    index, questions = row["index"], row["questions"]
    result = {name: index[name] for name in ("processors s", "beside s", "calls", "texts")}
    result["tokens"] = index["prompt_tokens"] + index["completion_tokens"]
    result |= {"start s": row["start s"], "peak bytes": row["peak bytes"], "disk bytes": row["disk bytes"]}
    result |= {name: row[name] for name in ("add", "remove") if name in row}
    result["question"] = {
        "p50 ms": round(1e3 * median(each["beside s"] for each in questions), 2),
        "p50 processors ms": round(1e3 * median(each["processors s"] for each in questions), 2),
        "calls": fmean(each["calls"] for each in questions),
        "tokens": fmean(each["prompt_tokens"] + each["completion_tokens"] for each in questions),
    }
    for k in (5, LIMIT):
        result[f"recall@{k}"] = percent(
            [len(set(ids) & set(each["found"][:k])) / len(ids) for each, ids in zip(questions, gold, strict=True)]
        )
    return result


COLUMNS: Mapping[str, tuple[str, ...]] = {
    "index, processor": ("processors s",),
    "index, clock": ("beside s",),
    "memory": ("peak bytes",),
    "disk": ("disk bytes",),
    "one added": ("add", "beside s"),
    "one removed": ("remove", "beside s"),
    "question": ("question", "p50 ms"),
    "question, processor": ("question", "p50 processors ms"),
}
"""Columns of ratios, and where in a summary their numbers are."""


def page(results: Record) -> str:
    """Return the page of tables: ratios, and what is counted."""
    return "# Beside other systems\n\n" + "\n".join(f"## {size} passages\n\n{_size(results[size])}" for size in results)


def _size(systems: Record) -> str:
    ours = systems.get("graphwright", {})
    worked = {name: of for name, of in systems.items() if "failed" not in of}
    ratios = [[_named(name, of), *(_ratio(of, ours, keys) for keys in COLUMNS.values())] for name, of in worked.items()]
    counts = [[_named(name, of), *_counts(of)] for name, of in worked.items()]
    header = ["system", "recall@5", f"recall@{LIMIT}", "calls", "tokens", "texts", "one added: calls"]
    failed = [f"- {_named(name, of)}: {of['failed']}" for name, of in systems.items() if "failed" in of]
    return "\n".join(
        [
            "### Ratios to graphwright\n",
            table(["system", *COLUMNS], ratios),
            "### Recall, and what is asked of models\n",
            "Calls, tokens (read and written) and encoded texts of each passage that is indexed; then of one "
            "more, and of a question.\n",
            table([*header, "one added: tokens", "question: calls", "question: tokens"], counts),
            *(["### Not measured\n", *failed, ""] if failed else []),
        ]
    )


def _counts(of: Record) -> list[str]:
    """Return recall, and what was asked of models."""
    recall = [f"{of[f'recall@{k}']:.1f}" for k in (5, LIMIT)]
    indexed = [f"{of[key] / of['passages']:,.{digits}f}" for key, digits in (("calls", 2), ("tokens", 0), ("texts", 1))]
    added, question = of.get("add"), of["question"]
    one = [str(added["calls"]), f"{added['prompt_tokens'] + added['completion_tokens']:,}"] if added else ["no", "no"]
    return [*recall, *indexed, *one, f"{question['calls']:.1f}", f"{question['tokens']:,.0f}"]


def _named(name: str, of: Record) -> str:
    return f"{name} {of['version']}" if of.get("version") else name


def _value(of: Record, keys: Sequence[str]) -> float | None:
    value: Any = of
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return None if value is None else float(value)


def _ratio(of: Record, ours: Record, keys: tuple[str, ...]) -> str:
    """Return a number as a multiple of ours; "no" where the system has no such operation or it had no effect."""
    value, base = _value(of, keys), _value(ours, keys)
    if value is None or (keys[0] in ("add", "remove") and of[keys[0]]["found"] != (keys[0] == "add")):
        return "no"
    if not base:
        return "?"
    return f"{value / base:.{3 if value < base / 100 else 2 if value < 10 * base else 0}f}"


# The run


def corpus(options: Namespace, size: int) -> Path:
    """Return a folder with `corpus.jsonl` and `openie.jsonl` of at least so many passages.

    Beyond MuSiQue's passages are those of other sets, with the triples of the embedded mention detector.
    """
    musique: Path = options.data / "multihop" / "musique"
    passages, triples = (read_lines(musique / name) for name in ("corpus.jsonl", "openie.jsonl"))
    if size <= len(passages):
        return musique
    folder: Path = options.fetched / "peers" / f"corpus-{size}"
    if not (folder / "openie.jsonl").exists():
        known = {passage["text"] for passage in passages}
        more = [p for name in MORE for p in _others(options.data / name) if p["text"].strip()]
        distinct = {p["text"]: p for p in more if p["text"] not in known}
        added = list(distinct.values())[: size - len(passages)]
        found = MentionExtractor().extract([Excerpt(p["id"], p["title"], p["text"]) for p in added])
        triples += [
            {
                "id": passage["id"],
                "entities": [mention.name for mention in each.mentions],
                "triples": [list(relation[:3]) for relation in each.relations],
            }
            for passage, each in zip(added, found, strict=True)
        ]
        folder.mkdir(exist_ok=True)
        for name, rows in (("corpus.jsonl", passages + added), ("openie.jsonl", triples)):
            write_text(folder / name, "".join(json.dumps(row) + "\n" for row in rows))
    return folder


def _others(folder: Path) -> Iterator[Record]:
    for row in read_lines(folder / "corpus.jsonl"):
        yield {"id": f"{folder.name}-{row['id']}", "title": row["title"], "text": row["text"]}


def read_lines(path: Path) -> list[Record]:
    """Return the rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def version_of(python: Path, name: str) -> str:
    """Return the version of a system that is installed."""
    code = f"import importlib.metadata as m; print(m.version({PEERS[name].distribution!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def todo(options: Namespace, rows: Rows) -> Iterator[tuple[int, str]]:
    """Yield the sizes and systems that were not measured, or that failed and are asked for again."""
    for size in options.sizes:
        for name in options.systems or PEERS:
            if (name, size) not in rows or (options.systems and "failed" in rows[name, size]):
                yield size, name


def main() -> None:
    """Measure every system at every size."""
    parser = arguments(__doc__)
    parser.add_argument("--systems", nargs="+", choices=list(PEERS), metavar="NAME", help="by default all")
    parser.add_argument("--sizes", nargs="+", type=int, default=[1890], help="numbers of passages")
    parser.add_argument("--minutes", type=float, default=60.0, help="at most, for one system and size")
    options = parse(parser)
    if min(options.sizes) < FEWEST:
        parser.error(f"--sizes: at least {FEWEST} passages, so that some have a question")
    folder = options.fetched / "peers"
    folder.mkdir(exist_ok=True)
    rows = Rows(options.work / "peers.jsonl", "system", "passages")
    encoder = CachedEncoder(MiniLM(), folder / "vectors.sqlite")
    for size, name in todo(options, rows):
        source = corpus(options, size)
        *passages, added = read_lines(source / "corpus.jsonl")[:size]
        known = {passage["id"] for passage in passages}
        questions = [q for q in multihop_questions(options, "musique-openie") if set(q.gold) <= known]
        row: Record = {"system": name, "passages": len(passages)}
        with ScriptedModels(Script.read(source), encoder) as models:
            task = {
                "folder": str(folder), "url": models.url, "limit": LIMIT, "passages": passages, "added": added,
                "questions": [question.text for question in questions],
            }  # fmt: skip
            environment = {
                "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": models.url,
                "TIKTOKEN_CACHE_DIR": str(tokenizer_files(folder)),
            }  # fmt: skip
            try:
                python = installed(name, folder)
                row["version"] = version_of(python, name)
                row |= summary(
                    measured(name, python, task, 60 * options.minutes, environment), [q.gold for q in questions]
                )
            except FailedError as error:
                row["failed"] = str(error)
        rows.add(row | {"passages": size})
        print(f"{size} {name}: {row.get('failed') or 'measured'}", flush=True)
        update_results(options.out / "peers.json", [str(size), name], row, page, list(PEERS))
    print(page(read_results(options.out / "peers.json")))


if __name__ == "__main__":
    main()
