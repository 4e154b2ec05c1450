"""Every benchmark behind a figure of the README, in one command.

    python benchmarks/all.py --data DIR [--work runs] [--only recall bubblerag ...] [--list]

Runs them one after the other, each in a process of its own, and says how long it took; each writes its files to
benchmarks/results. Those that go on where they stopped do so here too; what fails is named at the end, and the others
are run all the same. All of it takes a day on two cores; nothing else should run meanwhile, as most measure time.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
HOTPOTQA = "{work}/recall/hotpotqa-lexical/index"
MUSIQUE = "{work}/recall/musique-openie/index"
COMMANDS = {
    "recall": "recall.py --data {data}/multihop --out {work}/recall",
    "encoder": "encoder.py --data {data}/multihop",
    "bubblerag": "bubblerag.py --data {data}/multihop --indexes {work}/recall",
    "steiner": "steiner.py",
    "bubble": f"bubble.py --index {HOTPOTQA} --questions {{data}}/multihop/hotpotqa/questions.jsonl",
    "pathrag": "pathrag.py --data {data}/multihop --runs {work}/recall",
    "flow": "flow.py",
    "squality": "squality.py --data {data}/long/squality_train.jsonl --stories 50",
    "answers": "answers.py --data {data}/multihop --indexes {work}/recall --questions 40",
    "latency, hotpotqa": f"latency.py --index {HOTPOTQA} --questions {{data}}/multihop/hotpotqa/questions.jsonl "
    "--methods bubblerag hipporag2 ircot pathrag",
    "latency, musique": f"latency.py --index {MUSIQUE} --questions {{data}}/multihop/musique/questions.jsonl",
    "indexing": "indexing.py --corpus {data}/multihop/hotpotqa/corpus.jsonl",
    "updates": "updates.py --data {data}/multihop",
    "readers": "readers.py --corpus {data}/multihop/hotpotqa/corpus.jsonl "
    "--questions {data}/multihop/hotpotqa/questions.jsonl",
    "kills": "kills.py --corpus {data}/multihop/musique/corpus.jsonl",
    "lego, metaqa": "lego.py --data {data}/kgqa --set metaqa --cache {work}/lego/vectors --out {work}/lego/rows",
    "lego, pq-2h": "lego.py --data {data}/kgqa --set pq-2h --cache {work}/lego/vectors --out {work}/lego/rows",
    "lego, the map": "lego_map.py --data {data}/kgqa/metaqa",
    "lego, the page": "lego_page.py",
    "reg": "reg.py --data {data}/kgqa --work {work}/reg",
    "ppr": "ppr.py --graphs {data}/graphs",
    "ppr at scale": "ppr_scale.py --work {work}/ppr",
    "chains": "chains.py --data {data}/kgqa/metaqa",
    "fastinsight": "fastinsight.py",
    "corpora": "corpora.py --data {data}",
    "reading": "reading.py --data {data} --runs {work}/reading",
    "depth": "depth.py --data {data} --runs {work}/reading",
    "overview": "overview.py --data {data} --out {work}/overview",
    "testbed": "testbed.py --data {data} --work {work}/testbed",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs"))
    parser.add_argument("--only", nargs="+", choices=list(COMMANDS), default=list(COMMANDS), metavar="NAME")
    parser.add_argument("--list", action="store_true", help="Only print the commands.")
    given = parser.parse_args()
    failed = []
    for name in given.only:
        script, *more = [part.format(data=given.data, work=given.work) for part in COMMANDS[name].split()]
        print("python", HERE / script, *more, flush=True)
        if given.list:
            continue
        begun = time.perf_counter()
        done = subprocess.run([sys.executable, str(HERE / script), *more])
        print(f"{name}: {time.perf_counter() - begun:,.0f} s, exit {done.returncode}", flush=True)
        failed += [name] if done.returncode else []
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
