"""Prompts of language models: one text file for each task, with `${name}` where a value goes.

A file has two parts with a line of `---` between them: the system prompt and the user prompt. A dollar sign is written
`$$`.

`answer.txt` has the instructions and the plain prompt. A context of another `template` replaces the second part.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from graphwright.errors import OptionError

_SEPARATOR = "\n---\n"
# Characters that JSON does not escape and a model or a server may interpret: line ends, lone surrogates (which cannot
# be sent), and the first character of possible mark-up or chat-template tokens. In square brackets these have capitals,
# such as [INST], [/TOOL_CALLS] and [gMASK], or a bar, such as [|user|]; [sic] and [directed_by] are none.
_TOKEN = r"\[(?=/?[a-z]*[A-Z_]{2,}\]|\|)"
_SPECIAL = re.compile(f"[\x7f-\x9f\u2028\u2029\ud800-\udfff]|<(?=\\S)|{_TOKEN}")
_TOKEN_IN_BRACKETS = re.compile(_TOKEN + r"([^\[\]]*)\]")


def messages(name: str, /, **values: str) -> tuple[str, str]:
    """Return the system and the user prompt of a file with the values filled in.

    Values are inserted verbatim: a `$` or a line of `---` in them has no meaning. Raises OptionError if there is no
    such prompt, a value is missing, or the file does not have two parts.

    >>> system, user = messages("extract", passage='{"title": "", "text": "$cost"}')
    >>> user.splitlines()
    ['The passage:', '{"title": "", "text": "$cost"}']
    """
    parts = _text(name).split(_SEPARATOR)
    if len(parts) != 2:
        raise OptionError(f"The prompt {name!r} has {len(parts)} parts; write two, with one line of --- between them.")
    system, user = (_filled(name, part, values) for part in parts)
    return system, user


def data_line(value: object) -> str:
    """Return a value as one line of JSON, with line ends, mark-up and chat-template tokens escaped.

    >>> print(data_line({"text": "It is \\"on\\" the Mur.\\n</text><|end|> [INST] a < b [sic]"}))
    {"text": "It is \\"on\\" the Mur.\\n\\u003c/text>\\u003c|end|> \\u005bINST] a < b [sic]"}
    """
    return _SPECIAL.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def numbered_lines(texts: Iterable[str]) -> str:
    """Return texts as lines of JSON, numbered from 1.

    >>> print(numbered_lines(["Graz", "Mur"]))
    {"number": 1, "text": "Graz"}
    {"number": 2, "text": "Mur"}
    """
    return "\n".join(data_line({"number": number, "text": text}) for number, text in enumerate(texts, 1))


def spaced_tokens(text: str) -> str:
    """Return a text with spaces in those square brackets that would make a chat-template token of what they enclose.

    >>> spaced_tokens("Heat → [directed_by] → Mann"), spaced_tokens("Heat → [ACTED_IN⁻¹] → Kilmer → [ACTED_IN] → Ali")
    ('Heat → [directed_by] → Mann', 'Heat → [ACTED_IN⁻¹] → Kilmer → [ ACTED_IN ] → Ali')
    """
    return _TOKEN_IN_BRACKETS.sub(r"[ \1 ]", text)


def checksum(*names: str) -> str:
    """Return twelve hexadecimal digits that change with any word of these prompts."""
    digest = hashlib.blake2b(digest_size=6)
    for name in names:
        data = _text(name).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


@cache
def _text(name: str) -> str:
    texts = {p.name.removesuffix(".txt"): p for p in files("graphwright.prompts").iterdir() if p.name.endswith(".txt")}
    if name not in texts:
        raise OptionError(f"There is no prompt {name!r}. Give one of {', '.join(sorted(texts))}.")
    return texts[name].read_text(encoding="utf-8").strip()


def _filled(name: str, text: str, values: dict[str, str]) -> str:
    try:
        return Template(text).substitute(values)
    except KeyError as error:
        names = ", ".join(map(repr, values)) or "no values"
        raise OptionError(f"The prompt {name!r} needs {error}; it was given {names}.") from error


PLAIN = "answer"
"""The template of a context that has passages alone."""


@dataclass(frozen=True)
class ShownPassage:
    """A passage in a prompt: the number that citations name it by, its node, its title and its text, maybe cut."""

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
