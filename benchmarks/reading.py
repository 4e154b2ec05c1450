"""The embedded cross-encoder and reader on what they were not trained on: ranking, answers, abstaining, speed.

    python benchmarks/reading.py --data DIR [--sets musique hotpotqa ...] [--parts rank answer speed]

DIR is as for scripts/train_reading.py. Of hotpotqa, 2wiki, scifact, xquad and covidqa only the questions that are held
out of training are asked, and for answers of these the half that no constant was chosen on; musique, cisi and cranfield
took no part in training at all; the questions of hotpotqa100 are other ones of HotpotQA.

- rank: the first 50 passages of `hybrid`, ordered by the cross-encoder, which reads each once (`rerank`), or reads on
  with what the three best name (`MultiHopRerank`), alone or fused with the order that there was; the share of the room between
  recall@5 and recall@50 of `hybrid` that this wins. 95 % bootstrap intervals of the difference, over questions.
- answer: exact match and token F1 of the answers that `ask` gives offline to the questions that have answers, from the
  passages of `hybrid` and `ppr`, and from the gold passages alone; the share that is answered shortly rather than by
  quoted sentences, and how right these are. Then the same from the first 8 passages that are not gold: what is
  answered shortly there is wrong.
- speed: milliseconds for a pair on one thread, the text new, and the text read before.

An index of each set and its candidates are kept under --runs; delete them after a change of the search. Writes
benchmarks/results/reading.json and reading.md; sets and parts that are not asked for stay as they were there.
"""

import argparse
import json
import pickle
import shutil
import sys
import time
from pathlib import Path

import numpy as np

from graphwright import CachedCrossEncoder, Index, Keep, Rerank, exact_match, ndcg_at_k, recall_at_k, start, token_f1
from graphwright.generate import Quote, ReadSpans
from graphwright.methods.registry import pipeline, retrieval_part
from graphwright.models import MiniLM, MiniLMCrossEncoder, MiniLMReader, minilm
from graphwright.models.protocols import PassageText
from graphwright.operators import MultiHopRerank, ReciprocalRank
from graphwright.operators.run import Run

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
from reading_data import REAL, Asked, Part, read_part  # noqa: E402

SETS = ("hotpotqa", "hotpotqa100", "2wiki", "musique", "scifact", "cisi", "cranfield", "xquad", "covidqa")
POOL = 50  # passages that are ordered
MEASURES = ((recall_at_k, 5), (recall_at_k, POOL), (ndcg_at_k, 10))
RANKED = "| set | questions | | recall@5 | gain (95 %) | share of the room | nDCG@10 | gain (95 %) |"
READ = 8  # passages that an answer is found in
ANSWERS = "| set | passages | questions | exact match | F1 | short answers, % | F1 of these |"


def part_of(name, data, runs):
    """Read a set with its candidates; kept in a folder, with its index, as searching takes longer than all the rest."""
    file = runs / name / "part.pickle"
    if not file.exists():
        shutil.rmtree(runs / name, ignore_errors=True)
        part = read_part(name, data, runs / name / "index")
        file.write_bytes(pickle.dumps((part.name, [vars(q) for q in part.questions], part.passages)))
    name, questions, passages = pickle.loads(file.read_bytes())
    return Part(name, [Asked(**q) for q in questions], passages)


def asked_of(part, limit):
    """Return the questions that nothing was trained on."""
    questions = [q for q in part.questions if part.name not in REAL or q.held_out]
    return questions[:limit] if limit else questions


def interval(differences, seed=0):
    rng = np.random.default_rng(seed)
    means = rng.choice(differences, (2000, len(differences))).mean(1)
    return [round(100 * float(v), 1) for v in np.quantile(means, (0.025, 0.975))]


def percent(values):
    return round(100 * float(np.mean(values)), 1) if len(values) else None


def rank(questions, index):
    """Return how well the first 50 of `hybrid` are ordered by itself, read once, and read on."""
    model = CachedCrossEncoder(MiniLMCrossEncoder())  # what is read first is the same for both
    search = retrieval_part(pipeline("hybrid", index.snapshot, top_k=POOL))
    on = MultiHopRerank(model)
    ranked = {"hybrid": search, "rerank": search >> Rerank(model), "read on": search >> on}
    ranked["read on, fused"] = search >> ReciprocalRank(Keep(), on, constant=5)  # as the method `multihop-rerank` does
    found = {name: [] for name in ranked}
    for question in questions:
        for name, operator in ranked.items():
            state = operator(start(question.text, index.graph))
            nodes = state.evidence.nodes.tolist()
            ids = list(dict.fromkeys(index.graph.passages.of(node).document for node in nodes))
            found[name].append([f(ids, question.gold, k) for f, k in MEASURES])
    tables = {name: np.array(rows) for name, rows in found.items()}
    first = tables["hybrid"]
    room = (first[:, 1] - first[:, 0]).mean()
    result = {"questions": len(questions), "recall@50": percent(first[:, 1])}
    for name, table in tables.items():
        result[name] = {"recall@5": percent(table[:, 0]), "ndcg@10": percent(table[:, 2])}
        if name != "hybrid":
            gain, ndcg = table[:, 0] - first[:, 0], table[:, 2] - first[:, 2]
            result[name] |= {"gain": percent(gain), "gain_95": interval(gain)}
            result[name] |= {"share_of_room": percent([gain.mean() / room]) if room > 0 else None}
            result[name] |= {"ndcg_gain": percent(ndcg), "ndcg_gain_95": interval(ndcg)}
    return result


def answered(part, question, keys):
    """Return what is answered from these passages, "" if nothing, and whether that is short, not quoted sentences."""
    passages = [PassageText(*part.passages[key]) for key in keys]
    read = ReadSpans(MiniLMReader())
    for span in read.reader.read(question.text, passages)[:1]:
        if span.score >= read.threshold:
            return passages[span.passage].text[span.start : span.end], True
    sentences = Quote(MiniLM()).sentences_of(question.text, passages, Run())
    return " ".join(passages[s.passage].text[s.start : s.end] for s in sentences), False


def answer(part, questions):
    questions = [q for q in questions if q.answers and not (part.name in REAL and q.tuned_on)]
    found = {}
    for name in ("gold", "hybrid", "ppr", "without gold"):
        if name == "ppr" and not any(q.walked for q in questions):
            continue
        rows = []
        for question in questions:
            keys = {"gold": question.gold, "hybrid": question.pool, "ppr": question.walked}.get(name)
            if keys is None:
                keys = [key for key in question.walked or question.pool if key not in question.gold]
            said, short = answered(part, question, keys[:READ])
            rows.append((exact_match([said], question.answers), token_f1([said], question.answers), short))
        table = np.array(rows, float)
        exact, f1, share = (percent(column) for column in table.T)
        right = percent(table[table[:, 2] > 0, 1])
        found[name] = {"questions": len(rows), "exact_match": exact, "f1": f1, "short": share, "f1_of_short": right}
    return found


def speed(part, questions):
    from graphwright.models import states

    model, cold, warm = MiniLMCrossEncoder(), [], []
    kept, minilm._cores = minilm._cores, lambda: 1
    try:
        for question in questions[:20]:
            texts = [part.text(key) for key in question.pool[:20]]
            states._load.cache_clear()
            model.latents(question.text, texts[:1])
            for times in (cold, warm):
                begun = time.perf_counter()
                model.latents(question.text, texts)
                times.append((time.perf_counter() - begun) * 1e3 / len(texts))
    finally:
        minilm._cores = kept
    return {"new_ms": round(float(np.median(cold)), 2), "read_before_ms": round(float(np.median(warm)), 2)}


def gained(method, what):
    low, high = method[f"{what}_95"]
    return f"{method[what]:+} ({low} to {high})"


def markdown(results):
    lines = [
        "# The embedded cross-encoder and reader, held out",
        "",
        "## Ranking: the first 50 of `hybrid`, reordered",
        "",
    ]
    lines += [RANKED, "|" + " --- |" * 8]
    for name, found in results.items():
        if r := found.get("rank"):
            cells = [name, r["questions"], "hybrid", r["hybrid"]["recall@5"], "", f"50: {r['recall@50']}"]
            lines.append(f"| {' | '.join(map(str, (*cells, r['hybrid']['ndcg@10'], '')))} |")
            for method in ("rerank", "read on", "read on, fused"):
                m = r[method]
                share = "" if m["share_of_room"] is None else f"{m['share_of_room']} %"
                cells = ["", "", method, m["recall@5"], gained(m, "gain"), share, m["ndcg@10"]]
                lines.append(f"| {' | '.join(map(str, (*cells, gained(m, 'ndcg_gain'))))} |")
    lines += ["", "## Answers", "", ANSWERS, "|" + " --- |" * 7]
    for name, found in results.items():
        for source, r in found.get("answer", {}).items():
            cells = [r["questions"], r["exact_match"], r["f1"], r["short"], r["f1_of_short"]]
            lines.append(f"| {name} | {source} | {' | '.join(map(str, cells))} |")
    for name, found in results.items():
        if r := found.get("speed"):
            times = f"{r['new_ms']} ms, {r['read_before_ms']} ms if its text was read before"
            lines += ["", f"A pair on one thread ({name}): {times}."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--parts", nargs="+", default=["rank", "answer", "speed"])
    parser.add_argument("--limit", type=int, default=0, help="questions of a set; 0: all")
    parser.add_argument("--runs", type=Path, default=Path("runs/reading"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "reading")
    given = parser.parse_args()
    file = given.out.with_suffix(".json")
    results = json.loads(file.read_text("utf-8")) if file.exists() else {}
    for name in given.sets:
        part = part_of(name, given.data, given.runs)
        questions = asked_of(part, given.limit)
        results.setdefault(name, {})
        if "rank" in given.parts:
            with Index.open(given.runs / name / "index") as index:
                results[name]["rank"] = rank(questions, index)
        if "answer" in given.parts and any(q.answers for q in questions):
            results[name]["answer"] = answer(part, questions)
        if "speed" in given.parts and name == given.sets[0]:
            results[name]["speed"] = speed(part, questions)
        print(name, json.dumps(results[name]), flush=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        given.out.with_suffix(".md").write_text(markdown(results), encoding="utf-8")


if __name__ == "__main__":
    main()
