"""Examples of short texts that the embedded reader learns from."""

import gzip
import json
import random
import re
from pathlib import Path

import numpy as np
import pytest
from reader_data import DECIDED, NO, NONE, SPAN, YES
from reader_documents import Asked, Retrieved
from reader_quotations import (
    HELD_TEXTS,
    STATEMENTS,
    Place,
    _quoted,
    confirmed_examples,
    quotation,
    statement_examples,
)

from graphwright.models.protocols import PassageText


class Scores:
    """A reader that scores sentences in their order, the last highest."""

    def sentence_scores(self, question: str, passages: list[PassageText], sentences: list[Place]) -> np.ndarray:
        return np.arange(1, len(sentences) + 1, dtype=np.float32)


def test_quotation_of_row_is_row_and_of_sentence_has_neighbours() -> None:
    text = "Fees\nboat: Mur; fee: 6\nboat: Enns; fee: 8\nAll are due in May. Late ones cost 2 more."
    passage = PassageText("Club", text, rows=((5, 22), (23, 41)))
    sentences = [(0, 0, 4), (0, 5, 22), (0, 23, 41), (0, 42, 61), (0, 62, 84)]
    texts = [text[start:end] for _, start, end in (quotation([passage], sentences, at) for at in range(5))]
    assert texts[:3] == ["Fees", "boat: Mur; fee: 6", "boat: Enns; fee: 8"]
    assert texts[3] == texts[4] == "All are due in May. Late ones cost 2 more."


def test_quotation_has_at_most_45_words_of_one_passage() -> None:
    text = " ".join(f"{'word ' * 19}end." for _ in range(4))
    spans = [(at * 100, at * 100 + 99) for at in range(4)]
    passages, sentences = [PassageText("", text), PassageText("", "Short.")], [(0, *span) for span in spans]
    assert quotation(passages, sentences, 2) == (0, 100, 299)
    assert quotation(passages, [*sentences, (1, 0, 6)], 4) == (1, 0, 6)


@pytest.mark.parametrize(("decided", "kind"), [(False, SPAN), (True, DECIDED)])
def test_quotations_are_right_where_they_have_the_evidence(decided: bool, kind: int) -> None:
    passages = (
        PassageText("Ferry", "The ferry is blue.\n\nA dog travels for 4.00."),
        PassageText("Tram", "The tram is green.\n\nA dog travels for 2.00. Cats for 4.00."),
    )
    asked = Asked("What does a dog cost?", frozenset({"ferry"}), ("4.00",), "A dog travels for 4.00.", decided=decided)
    examples = list(_quoted(Retrieved(asked, passages, (True, False)), Scores(), random.Random(0)))
    right = [e for e in examples if e.kind == kind]
    assert {e.kind for e in examples} <= {kind, NONE} and right
    assert all(text.whole[start:end] == "4.00" for e in right for text in e.passages for start, end in text.spans)
    # The other passage has the words of the answer, so that nobody knows whether it answers.
    assert not any("4.00" in e.passages[0].text for e in examples if e.kind == NONE)


def test_statements_are_read_without_those_held_out() -> None:
    examples, lines = list(statement_examples()), STATEMENTS.read_text("utf-8").splitlines()
    held = {json.loads(line)["text"] for part in HELD_TEXTS for line in lines[part]}
    assert len(held) == 45 + 122 and 25_000 < len(examples) < 26_000
    assert not held & {example.passages[0].text for example in examples}
    assert {example.kind for example in examples} == {NONE, SPAN, YES, NO}
    assert all(bool(example.passages[0].spans) == (example.kind == SPAN) for example in examples)


def test_confirmed_examples_are_right_answers_and_others_of_their_form(tmp_path: Path) -> None:
    text = "The abbey was founded in 1120 by Ida. It burned down in 1486. Ermengarde paid for the new roof in 1502."
    rows = [
        {
            "question": f"What about {answer}?",
            "answerable": True,
            "spans": [[0, text.index(answer), text.index(answer) + len(answer)]],
            "passages": [{"title": "Abbey", "text": text}],
        }
        for answer in ("1120", "Ida", "1486", "Ermengarde", "1502")
    ]
    (tmp_path / "squad_train_subset").mkdir()
    with gzip.open(tmp_path / "squad_train_subset" / "data.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    examples = [e for seed in range(9) for e in confirmed_examples(tmp_path, random.Random(seed))]
    assert {example.kind for example in examples} == {YES, NO}
    for example in examples:
        asked = re.search(r"What about (\w+)\?", example.question)
        assert asked is not None
        rest = example.question.replace(asked[0], "")
        assert (asked[1] in rest) == (example.kind == YES)
        assert bool(re.search(r"\d", rest)) == asked[1].isdigit()
