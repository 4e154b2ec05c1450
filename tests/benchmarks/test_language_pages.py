"""The data set of a language: what is asked is taken out of the pages."""

import json
from pathlib import Path

from sources.language_pages import write_dataset

from graphwright.data.question_sets.datasets import read_dataset

SENTENCES = {
    "de": "Dieser Abschnitt erklärt in {n} Schritten, wie Verzeichnisse angelegt werden.",
    "en": "This section explains in {n} steps how to make directories and folders.",
}


def source(name: str, form: str = "html") -> dict[str, str]:
    return {"name": name, "package": f"help-{name}", "version": "1:2", "form": form, "base": "text", "language": name}


def write_page(work: Path, language: str, name: str, title: str, sentences: int) -> None:
    path = work / "unpacked" / f"help-{language}-1-2" / "text" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    body = "".join(
        f"<p>{SENTENCES[language].format(n=n)} {SENTENCES[language].format(n=-n)}</p>" for n in range(sentences)
    )
    path.write_text(f"<html><title>{title}</title><body><h1>{title}</h1>{body}</body></html>", "utf-8")


def test_questions_are_about_removed_sentences(tmp_path: Path) -> None:
    for number in range(4):
        write_page(tmp_path, "de", f"page{number}.html", f"Ordner {number} anlegen", 8)
        write_page(tmp_path, "en", f"page{number}.html", f"Making folder {number}", 8)
    write_page(tmp_path, "de", "short.html", "Zu kurz", 1)
    write_dataset(source("de"), [source("en")], tmp_path / "data", tmp_path, max_pages=3)
    dataset = read_dataset(tmp_path / "data")
    texts = {document.id: document.text for document in dataset.documents(print)}
    assert len(texts) == 3 and "short.html" not in texts
    assert {question.type for question in dataset.questions} == {"description", "sentence", "english"}
    assert len(dataset.questions) == 9
    for question in dataset.questions:
        (page,) = question.gold
        assert question.text not in texts[page]
        assert question.text.startswith(
            {"description": "Ordner", "sentence": "Dieser", "english": "Making"}[question.type]
        )


def test_same_pages_give_same_data_set(tmp_path: Path) -> None:
    for number in range(5):
        write_page(tmp_path, "de", f"page{number}.html", f"Ordner {number}", 8)
    for name in ("a", "b"):
        write_dataset(source("de"), [], tmp_path / name, tmp_path, max_pages=2)
    first, second = ((tmp_path / name / "questions.jsonl").read_text("utf-8") for name in ("a", "b"))
    assert first == second and len({json.loads(line)["gold_ids"][0] for line in first.splitlines()}) == 2
