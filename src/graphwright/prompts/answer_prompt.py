"""The prompt for an answer: the passages and lines of evidence that a language model is shown, and their rendering.

`answer.txt` has the instructions and the plain prompt. A context of another `template` replaces the second part.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphwright.prompts.templates import data_line, messages

PLAIN = "answer"
"""The template of a context that has passages alone."""


@dataclass(frozen=True)
class ShownPassage:
    """A passage in a prompt: the number that citations name it by, its node, its title and its text.

    The title and the text may be cut.
    """

    number: int
    node: int
    title: str
    text: str

    @property
    def line(self) -> str:
        """The passage as one line of JSON, escaped so that no text can pass for another passage or an instruction."""
        return data_line({"passage": self.number, "title": self.title, "text": self.text})


@dataclass(frozen=True)
class Context:
    """The question, passages and lines of evidence for a language model; `prompt` renders them.

    `template`: the name of the prompt; `before` and `after`: lines of evidence on both sides of the passages, such as
    triples, paths, chains and reports.

    >>> context = Context("Where is Graz?", passages=(ShownPassage(1, 7, "", "Graz in Austria."),))
    >>> print(context.prompt[1].splitlines()[-1])
    {"passage": 1, "title": "", "text": "Graz in Austria."}
    """

    question: str
    template: str = PLAIN
    passages: tuple[ShownPassage, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def prompt(self) -> tuple[str, str]:
        """The system and the user prompt."""
        passages = [passage.line for passage in self.passages]
        values = {
            "question": data_line({"question": self.question}),
            "passages": "\n".join(passages),
            "evidence": "\n".join(self.before),
            "lines": "\n".join((*self.before, *passages, *self.after)),
        }
        system, user = messages(PLAIN, **values)
        return system, user if self.template == PLAIN else "\n\n".join(messages(self.template, **values))
