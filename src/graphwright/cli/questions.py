"""Commands whose question may begin with a dash, such as `graphwright ask "-Xmx what is it?"`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from graphwright.cli.options import Command


class QuestionCommand(Command):
    """A command with a question as its only argument.

    A word that begins with a dash is the question if it has spaces, or if there is no other argument and no option has
    a similar name; else it is an option, so that a misspelt one is reported.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of the command line, the question last."""
        at = self._question_at(args)
        if at is not None:
            args = [*args[:at], *args[at + 1 :], "--", args[at]]
        return super().parse_args(ctx, args)

    def _question_at(self, args: list[str]) -> int | None:
        """Return the position of a question that begins with a dash, None if there is none."""
        options = {name: option for option in self.params for name in option.opts if name.startswith("-")}
        unknown, is_value = list[int](), False
        for at, word in enumerate(args):
            if is_value:
                is_value = False
            elif word == "--" or not word.startswith("-") or word == "-":
                return None  # a question without a dash
            elif " " in word and word.partition("=")[0] not in options:
                return at
            elif word in options:
                is_value = not getattr(options[word], "is_flag", False)
            elif word.partition("=")[0] not in options and not _is_joined(word, options.keys()):
                unknown.append(at)
        similar = [at for at in unknown if get_close_matches(args[at], [*options, "--help"], cutoff=0.8)]
        return unknown[0] if len(unknown) == 1 and not similar else None


def _is_joined(word: str, names: object) -> bool:
    """Return whether a word is a short option with a number, such as -k5."""
    return word[:2] in names and word[2:].isdecimal()  # type: ignore[operator]
