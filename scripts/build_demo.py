"""Cut the demo's corpus out of a MuSiQue sample: ten questions and every passage offered with them.

    python scripts/build_demo.py DATA/multihop/musique

MuSiQue (Trivedi et al., 2022) is licensed CC BY 4.0; the passages are from Wikipedia (CC BY-SA).
"""

import json
import sys
from pathlib import Path

OUT = Path(__file__).parent.parent / "src/graphwright/cli/demo_corpus"
QUESTIONS = (
    "When was the astronomical clock built in the city where Karel Purkyně died?",
    "When did the spouse of Lil Hardin Armstrong make What a Wonderful World?",
    "Who was the first president of the association which published Journal of Psychotherapy Integration?",
    "In what county is the city where Harris W. Fawell was born?",
    "What is the name of the airport in the city where WILM is licensed to broadcast?",
    "Where did the band form that made the live album Maiden Japan?",
    "What river flows through the city Kevin Durant played for before Golden State?",
    "What character comes from the same book as Abraham Van Helsing?",
    "When did the state where Pocahontas Mounds is located become part of the United States?",
    "Who is the sibling of the performer of Decade?",
)


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main(source: Path) -> None:
    passages = {row["id"]: row for row in rows(source / "corpus.jsonl")}
    asked = {row["question"]: row for row in rows(source / "questions.jsonl")}
    missing = [q for q in QUESTIONS if q not in asked]
    if missing:
        raise SystemExit(f"{source} lacks the question {missing[0]!r}; is it the MuSiQue sample?")
    chosen = [asked[q] for q in QUESTIONS]
    wanted = dict.fromkeys(i for q in chosen for i in q["candidate_ids"])  # type: ignore[attr-defined]
    fields = ("id", "question", "answers", "gold_ids", "type")
    write(OUT / "corpus.jsonl", [passages[i] for i in wanted])
    write(OUT / "questions.jsonl", [{k: q[k] for k in fields} for q in chosen])
    print(f"{len(wanted)} passages and {len(chosen)} questions in {OUT.name}")


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
