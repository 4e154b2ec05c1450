"""Make a corpus that has links and no questions one that can be evaluated: questions that need two linked documents.

    python scripts/write_questions.py --data DATA/ir/cora --out runs/cora [--questions 200] [--seed 0]
    graphwright evaluate --data runs/cora --methods vector,fastinsight --out runs/cora-results

--data is a folder with corpus.jsonl and links.tsv (pairs of document ids); --out gets questions.jsonl, and where it is
another folder copies of these two. The questions are made of words, the same for the same seed; with --llm MODEL (and
--base-url, or OPENAI_BASE_URL; the key is OPENAI_API_KEY) a language model writes them.
"""

import argparse
import shutil
from pathlib import Path

from graphwright.data.documents import read_documents
from graphwright.data.links import links_file
from graphwright.data.question_sets.questions import write_questions
from graphwright.evaluate.synthetic import two_document_questions
from graphwright.models.settings import LLMSettings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--llm", help="the model that writes; without one questions are made of words")
    parser.add_argument("--base-url", help="where the model's server is, up to and with /v1")
    given = parser.parse_args()
    corpus = next((p for p in given.data.glob("corpus.jsonl*") if p.name in ("corpus.jsonl", "corpus.jsonl.gz")), None)
    if corpus is None:
        raise SystemExit(f"{given.data}: no corpus.jsonl there.")
    documents = list(read_documents([corpus], lambda skipped: print(f"{skipped.path}: {skipped.reason}")))
    llm = LLMSettings(given.llm, base_url=given.base_url).llm() if given.llm else None
    questions = two_document_questions(documents, given.questions, given.seed, llm=llm)
    given.out.mkdir(parents=True, exist_ok=True)
    if given.out.resolve() != given.data.resolve():
        for file in filter(None, (corpus, links_file(corpus))):
            shutil.copy(file, given.out)
    write_questions(given.out / "questions.jsonl", questions)
    print(f"{len(questions):,} questions of {given.questions:,} wanted: {given.out / 'questions.jsonl'}")


if __name__ == "__main__":
    main()
