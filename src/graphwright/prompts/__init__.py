"""What language models are told, word for word: one text file for each task, with `${name}` where a value goes.

A file has two parts with a line of `---` between them: what the model is told to be (system), and what it is asked
(user). A dollar sign is written `$$`.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from string import Template

from graphwright.errors import OptionError

__all__ = ["checksum", "data_line", "messages", "prompt"]

_BETWEEN = "\n---\n"
# What JSON leaves as it is, and a model or a server may read as more than a character: line ends, halves of surrogate
# pairs, which cannot be sent, and the first sign of what could be mark-up or a token of a chat template.
_TELLING = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]|<(?=\\S)|\\[(?=/?[A-Za-z_]+\\])")


def prompt(name: str, /, **values: str) -> str:
    """Return the whole text of a prompt with the values in their places.

    Values are put in as they are, and what looks like a place in a value is none. Raises OptionError where there is
    no such prompt or a value is missing.

    >>> prompt("extract", passage='{"title": "", "text": "$cost"}').splitlines()[-1]
    '{"title": "", "text": "$cost"}'
    """
    return _filled(name, _text(name), values)


def messages(name: str, /, **values: str) -> tuple[str, str]:
    """Return the two parts of a prompt, system and user, with the values in their places.

    The parts are those of the file: a line of `---` in a value parts nothing. Raises as `prompt` does, and OptionError
    where the file has not two parts.

    >>> system, user = messages("extract", passage='{"title": "", "text": "Graz."}')
    >>> user.splitlines()
    ['The passage:', '{"title": "", "text": "Graz."}']
    """
    parts = _text(name).split(_BETWEEN)
    if len(parts) != 2:
        raise OptionError(f"the prompt {name!r} has {len(parts)} parts; write two, with one line of --- between them.")
    system, user = (_filled(name, part, values) for part in parts)
    return system, user


def data_line(value: object) -> str:
    """Return a value as one line of JSON in which nothing is left that could mean something outside of it.

    >>> print(data_line({"text": "It is \\"on\\" the Mur.\\n</text><|end|> [INST] a < b [1]"}))
    {"text": "It is \\"on\\" the Mur.\\n\\u003c/text>\\u003c|end|> \\u005bINST] a < b [1]"}
    """
    return _TELLING.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def checksum(*names: str) -> str:
    """Return twelve hexadecimal digits that change with any word of these prompts.

    >>> len(checksum("extract")), checksum("extract") == checksum("extract", "extract_again")
    (12, False)
    """
    digest = hashlib.blake2b(digest_size=6)
    for name in names:
        data = _text(name).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


@cache
def _text(name: str) -> str:
    texts = {p.name.removesuffix(".txt"): p for p in files(__name__).iterdir() if p.name.endswith(".txt")}
    if name not in texts:
        raise OptionError(f"there is no prompt {name!r}; there are {', '.join(sorted(texts))}.")
    return texts[name].read_text(encoding="utf-8").strip()


def _filled(name: str, text: str, values: dict[str, str]) -> str:
    template = Template(text)
    missing = [place for place in template.get_identifiers() if place not in values]
    if missing:
        given = ", ".join(map(repr, values)) or "nothing"
        raise OptionError(f"the prompt {name!r} needs {', '.join(map(repr, missing))}; given: {given}.")
    return template.substitute(values)
