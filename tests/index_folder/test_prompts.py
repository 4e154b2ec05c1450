"""Prompts of an index, and instructions for its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.shared import CORPUS, answer_reply, passages_in

from graphwright import Index
from graphwright.errors import OptionError
from graphwright.extract.llm import GenerativeExtractor
from graphwright.generate import Message
from graphwright.models.cache import CachedLLM
from graphwright.models.fake import HashEncoder, ScriptedLLM
from graphwright.operators.run import NOT_FOLLOWED
from graphwright.prompts.templates import packaged

QUESTION = "Which abbey did Ermengarde found?"


class Model:
    """Quotes the first passage, extracts nothing, and keeps the prompts that it was sent."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, system: str, user: str) -> str:
        self.asked.append((system, user))
        if passages := passages_in(user):
            number, text = next(iter(passages.items()))
            return answer_reply("Erstein [1].", (number, text.split(". ")[0]))
        return json.dumps({"entities": [{"name": "Erstein"}], "relations": []})


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Index.create(tmp_path / "ix", encoder=HashEncoder()) as index:
        index.add(CORPUS)
    return tmp_path / "ix"


def replaced(folder: Path, name: str, old: str, new: str) -> None:
    (folder / "prompts").mkdir(exist_ok=True)
    text = packaged(name)
    assert old in text
    (folder / "prompts" / f"{name}.txt").write_text(text.replace(old, new), encoding="utf-8")


def opened(folder: Path, **options: Any) -> Index:
    return Index.open(folder, encoder=HashEncoder(), **options)


@pytest.mark.parametrize("method", ["multihop", "vanilla", "pathrag"])
def test_file_of_index_is_sent_in_place_of_prompt(folder: Path, model: Model, method: str) -> None:
    name = "vanilla" if method == "vanilla" else "answer"
    replaced(folder, name, "You answer a question", "You are a librarian, and answer a question")
    with opened(folder) as index:
        index.ask(QUESTION, method, llm=ScriptedLLM(model))
        assert any(system.startswith("You are a librarian") for system, _ in model.asked)
        assert index.info()["prompts"] == [name]


def test_reply_to_other_prompt_is_not_taken_from_cache(folder: Path, tmp_path: Path, model: Model) -> None:
    llm = CachedLLM(ScriptedLLM(model), tmp_path / "replies.sqlite")

    def calls() -> int:
        with opened(folder) as index:
            index.ask(QUESTION, llm=llm)
        return len(model.asked)

    assert (calls(), calls()) == (1, 1)
    replaced(folder, "answer", "You answer a question", "Answer a question")
    assert calls() == 2


def test_file_with_wrong_field_is_reported_when_index_is_opened(folder: Path) -> None:
    replaced(folder, "answer", "${question}", "${frage}")
    with pytest.raises(OptionError, match=r"answer\.txt lacks the field \$\{question\}"):
        opened(folder)


def test_open_index_uses_changed_prompt_from_the_next_question_on(folder: Path, model: Model) -> None:
    with opened(folder) as index:

        def asked() -> str:
            model.asked.clear()
            index.ask(QUESTION, llm=ScriptedLLM(model))
            return model.asked[0][0]

        assert asked().startswith("You answer a question")
        replaced(folder, "answer", "You answer a question", "You are a librarian")
        assert asked().startswith("You are a librarian")
        replaced(folder, "answer", "${question}", "${frage}")
        for _ in range(2):
            with pytest.raises(OptionError, match=r"answer\.txt lacks the field \$\{question\}"):
                asked()
        replaced(folder, "answer", "You answer a question", "You are a poet")
        assert asked().startswith("You are a poet")
        (folder / "prompts" / "answer.txt").unlink()
        assert asked().startswith("You answer a question")


def test_extraction_by_other_prompt_is_another_extraction(folder: Path, model: Model) -> None:
    extractor = GenerativeExtractor(ScriptedLLM(model))
    with opened(folder, extractor=extractor) as index:
        index.reextract()
        assert not index.chunks_to_reextract()
    replaced(folder, "extract", "You read one passage", "You skim one passage")
    with opened(folder, extractor=extractor) as index:
        assert len(index.chunks_to_reextract()) == index.info()["chunks"]
        model.asked.clear()
        index.reextract()
        assert model.asked and all(system.startswith("You skim") for system, _ in model.asked)
        assert not index.verify()


def test_instruction_ends_system_prompt_of_answers_alone(folder: Path, model: Model) -> None:
    with opened(folder) as index:
        plain = index.ask(QUESTION, llm=ScriptedLLM(model))
        told = index.ask(QUESTION, llm=ScriptedLLM(model), instruction="in German, at most 80 words")
        many = index.ask_many([QUESTION], llm=ScriptedLLM(model), instruction="in German, at most 80 words")
        (without, _), (system, user), other = model.asked
    assert system.startswith(without) and '{"instruction": "in German, at most 80 words"}' in system[len(without) :]
    assert user == model.asked[0][1] and other == (system, user)
    assert plain.answer == told.answer == many[0].answer and told.answer is not None and told.answer.verified
    assert not any(NOT_FOLLOWED in step.notes for step in told.trace)


WORDS = {"English": "She founded Erstein [1].", "German": "Sie gründete Erstein [1].", "French": "Erstein [1]."}
ASKED = {"Which abbey did Ermengarde found?": "English", "Welche Abtei gründete Ermengarde?": "German"}


def multilingual(system: str, user: str) -> str:
    """Answer in the language that the prompts ask for, as a model does that follows them."""
    if "You rewrite the last question" in system:
        assert "its language" in system
        return json.dumps({"question": "Welche Abtei gründete Ermengarde?"})
    if "You list the keywords" in system:
        return json.dumps({"names": ["Ermengarde"], "themes": []})
    told = [json.loads(line)["instruction"] for line in system.splitlines() if line.startswith('{"instruction"')]
    question = next(json.loads(line)["question"] for line in reversed(user.splitlines()) if line.startswith('{"quest'))
    assert "text: in the language of the question" in system
    language = told[0].removeprefix("in ") if told else ASKED[question]
    number, text = next(iter(passages_in(user).items()))
    return answer_reply(WORDS[language], (number, text.split(". ")[0]))


@pytest.mark.parametrize("method", ["multihop", "pathrag"])
def test_language_of_answer_follows_question_or_instruction(folder: Path, method: str) -> None:
    def answered(question: str, **options: Any) -> str:
        answer = index.ask(question, method, llm=ScriptedLLM(multilingual), **options).answer
        assert (
            answer is not None
            and answer.verified
            and answer.citations[0].text in index.text(answer.citations[0].document)
        )
        return answer.text

    english, german = ASKED
    with opened(folder) as index:
        assert (answered(english), answered(german)) == (WORDS["English"], WORDS["German"])
        assert (
            answered(english, instruction="in French") == answered(german, instruction="in French") == WORDS["French"]
        )
        before = [Message("user", english), Message("assistant", WORDS["English"])]
        assert answered("Und welche Abtei gründete sie?", history=before) == WORDS["German"]
        offline = index.ask(german, method).answer
    assert offline is not None and all(citation.text in offline.text for citation in offline.citations)


def test_instruction_without_model_is_noted(folder: Path) -> None:
    with opened(folder) as index:
        state, plain = index.ask(QUESTION, instruction="in German"), index.ask(QUESTION)
    assert state.answer == plain.answer and sum(NOT_FOLLOWED in step.notes for step in state.trace) == 1
    assert not any(NOT_FOLLOWED in step.notes for step in plain.trace)


def test_unusable_reply_leaves_note_that_instruction_was_not_followed(folder: Path) -> None:
    with opened(folder) as index:
        state = index.ask(QUESTION, llm=ScriptedLLM(["{}"] * 4), instruction="in German")
    assert state.answer is not None and state.answer.citations and NOT_FOLLOWED in state.trace[-1].notes
