"""The feedback commands: questions made of what readers said of answers, and a ranking that is refit on them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import graphwright
from graphwright import evaluate
from graphwright.cli.options import AsJson, Commands, IndexFolder, open_index
from graphwright.cli.serve import Data
from graphwright.cli.terminal import note, print_json, say
from graphwright.errors import DataError, counted

feedback = Commands(help="Use what readers said of the server's answers.")


@feedback.command()
def export(index: IndexFolder, data: Data = None) -> None:
    """Print the questions with right answers or passages, for evaluate.

    A line each: graphwright feedback export > questions.jsonl
    """
    with open_index(index) as opened:
        questions = _questions(opened, data)
    for question in questions:
        print_json(question)
    note(f"{counted(len(questions), 'question')} with a right answer or passage.")


@feedback.command()
def refit(
    index: IndexFolder,
    data: Data = None,
    undo: Annotated[bool, "Go back to the ranking of the package."] = False,
    as_json: AsJson = False,
) -> None:
    """Refit the ranking of an index to the right passages.

    Fits how much connected passages count. Changes nothing unless the right passages of held-out questions are surely
    ranked higher.
    """
    from dataclasses import asdict

    with open_index(index) as opened:
        if undo:
            opened.set_gate(0)
            note(f"{index} is ranked as the package does.")
            return
        rows = _questions(opened, data)
        fit = evaluate.fit_gate(opened.snapshot, map(evaluate.JudgedQuestion.of_row, rows))
        opened.set_gate(fit.gate)
    if as_json:
        print_json(asdict(fit))
        return
    say(fit.words)
    note("Every question is ranked with it from now on; --undo goes back.")


def _questions(index: graphwright.Index, data: Path | None) -> list[dict[str, Any]]:
    """Return the questions that feedback has right answers or passages for. Raises DataError if there are none."""
    from graphwright.serve.feedback import FEEDBACK_FILE, Feedback, question_set
    from graphwright.serve.settings import default_data_folder

    folder, questions = data or default_data_folder(), list[dict[str, Any]]()
    if (folder / FEEDBACK_FILE).is_file():
        with closing(Feedback(folder)) as kept:
            questions = list(question_set(kept.entries(index)))
    if not questions:
        raise DataError(
            f"{folder} has no feedback with a right answer or passage for {index.path}. The page of a server that "
            f"serves this folder collects it; --data DIR names the server's data folder."
        )
    return questions
