"""Prompts of language models: one text file for each task, with `${name}` where a value goes.

A file has two parts with a line of `---` between them: the system prompt and the user prompt. A dollar sign is written
`$$`. A first line that begins with `#` says what the prompt is for; it is not sent. An index may replace prompts by
files in its folder `prompts`.

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
from pathlib import Path
from string import Template

from graphwright.errors import OptionError, counted, meant

_SEPARATOR = "\n---\n"
# Characters that JSON does not escape and a model or a server may interpret: line ends, lone surrogates (which cannot
# be sent), and the first character of possible mark-up or chat-template tokens. In square brackets these have capitals,
# such as [INST], [/TOOL_CALLS] and [gMASK], or a bar, such as [|user|]; [sic] and [directed_by] are none.
_TOKEN = r"\[(?=/?[a-z]*[A-Z_]{2,}\]|\|)"
_SPECIAL = re.compile(f"[\x7f-\x9f\u2028\u2029\ud800-\udfff]|<(?=\\S)|{_TOKEN}")
_ELSEWHERE = ("judge_accuracy", "judge_pairwise", "refine")  # prompts of evaluation and of training
_TOKEN_IN_BRACKETS = re.compile(_TOKEN + r"([^\[\]]*)\]")


@dataclass(frozen=True)
class Prompts:
    """The prompts of the package, some of them perhaps replaced by texts of the same fields, by name.

    >>> system, user = PROMPTS.messages("extract", passage='{"title": "", "text": "$cost"}')
    >>> user.splitlines()
    ['The passage:', '{"title": "", "text": "$cost"}']
    """

    replaced: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, folder: Path) -> Prompts:
        """Return the prompts of an index, with those that files of a folder replace; without a folder none.

        Raises OptionError for a file that is no prompt of an index, and for a field that is missing or unknown.
        """
        try:
            files = sorted(file for file in folder.iterdir() if not file.name.startswith("."))
            return cls(tuple((file.stem, _checked(file)) for file in files))
        except FileNotFoundError:
            return cls()
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(
                f"{folder}: a prompt cannot be read ({error}). Correct the file, or delete it."
            ) from error

    def messages(self, name: str, /, **values: str) -> tuple[str, str]:
        """Return the system and the user prompt of a name with the values filled in.

        Values are inserted verbatim: a `$` or a line of `---` in them has no meaning. Raises OptionError if there is no
        such prompt, or a value is missing.
        """
        system, user = (_filled(name, part, values) for part in self.text(name).split(_SEPARATOR))
        return system, user

    def checksum(self, *names: str) -> str:
        """Return twelve hexadecimal digits that change with any word of these prompts."""
        digest = hashlib.blake2b(digest_size=6)
        for name in names:
            data = self.text(name).encode()
            digest.update(len(data).to_bytes(8, "little") + data)
        return digest.hexdigest()

    def text(self, name: str) -> str:
        """Return the text of a prompt with its fields. Raises OptionError if there is no such prompt."""
        return dict(self.replaced).get(name) or _sent(packaged(name))


PROMPTS = Prompts()  # the prompts of the package


def packaged(name: str) -> str:
    """Return the file of a prompt as the package has it. Raises OptionError if there is no such prompt."""
    if name not in _files():
        raise OptionError(f"There is no prompt {name!r}. Give one of {', '.join(_files())}.{meant(name, _files())}")
    return _files()[name]


def prompts_of_index() -> dict[str, str]:
    """Return what each prompt that an index uses is for, by name; evaluation and training have prompts of their own."""
    return {name: text.partition("\n")[0][2:] for name, text in _files().items() if name not in _ELSEWHERE}


@cache
def _files() -> dict[str, str]:
    texts = (p for p in files("graphwright.prompts").iterdir() if p.name.endswith(".txt"))
    return {p.name.removesuffix(".txt"): p.read_text(encoding="utf-8") for p in sorted(texts, key=lambda p: p.name)}


def _sent(text: str) -> str:
    """Return the text of a file without the line that says what it is for."""
    return (text.partition("\n")[2] if text.startswith("# ") else text).strip()


def _checked(file: Path) -> str:
    if file.suffix != ".txt" or file.stem not in prompts_of_index():
        hint = meant(file.stem, prompts_of_index())
        raise OptionError(f"{file} is no prompt of an index: 'graphwright prompts' lists their names.{hint}")
    text, fields = _sent(file.read_text(encoding="utf-8-sig")), _fields(packaged(file.stem))
    problem = ""
    if text.count(_SEPARATOR) != 1:
        problem = f"has {counted(text.count(_SEPARATOR) + 1, 'part')}; write two, with one line of --- between them"
    elif not Template(text).is_valid():
        problem = "has a dollar sign that begins no field ${name}; write it as $$"
    elif missing := sorted(fields - _fields(text)):
        problem = f"lacks the field ${{{missing[0]}}}"
    elif unknown := sorted(_fields(text) - fields):
        problem = f"has the field ${{{unknown[0]}}}, which is unknown"
    if problem:
        names = ", ".join(f"${{{name}}}" for name in sorted(fields))
        raise OptionError(f"{file} {problem}. Its fields are {names}. Correct it, or delete it to use the original.")
    return text


def _fields(text: str) -> set[str]:
    return set(Template(text).get_identifiers())


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


def _filled(name: str, text: str, values: dict[str, str]) -> str:
    try:
        return Template(text).substitute(values)
    except KeyError as error:
        names = ", ".join(map(repr, values)) or "no values"
        raise OptionError(f"The prompt {name!r} needs {error}; it was given {names}.") from error


PLAIN = "answer"  # the template of a context that has passages alone


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
        """The system and the user prompt of the package."""
        return self.prompt_by(PROMPTS)

    def prompt_by(self, prompts: Prompts, instruction: str = "") -> tuple[str, str]:
        """Return the system and the user prompt. `instruction`: for the text of the answer, such as its language."""
        passages = [passage.line for passage in self.passages]
        values = {
            "question": data_line({"question": self.question}),
            "passages": "\n".join(passages),
            "evidence": "\n".join(self.before),
            "lines": "\n".join((*self.before, *passages, *self.after)),
            "instruction": instruction_lines(instruction),
        }
        system, user = prompts.messages(PLAIN, **values)
        return system, user if self.template == PLAIN else "\n\n".join(prompts.messages(self.template, **values))


def instruction_lines(instruction: str) -> str:
    """Return the end of a system prompt that instructs a model how to write the text of an answer; "" without one.

    >>> print(instruction_lines("in German"))
    <BLANKLINE>
    <BLANKLINE>
    One more instruction for text goes before what is said of it above, such as its language:
    {"instruction": "in German"}
    It changes nothing in what is found, nor in the quotes of citations, which are copied as they are.
    """
    if not instruction.strip():
        return ""
    return (
        "\n\nOne more instruction for text goes before what is said of it above, such as its language:\n"
        f"{data_line({'instruction': instruction.strip()})}\n"
        "It changes nothing in what is found, nor in the quotes of citations, which are copied as they are."
    )
