"""A conversation with an index on a terminal or through a pipe: one line is a turn, or a command that begins with /."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path

from graphwright.cli.asking import Asking, show_passages, source_line
from graphwright.cli.terminal import flush_output, note, print_json, report, say
from graphwright.errors import OptionError, meant
from graphwright.evaluate.tables import escaped
from graphwright.files import write_text
from graphwright.operators import State

_COMMANDS = {
    "/new": "begin again, without the turns before",
    "/sources": "show the passages of the last answer",
    "/save FILE": "write the conversation with its citations as Markdown",
    "/help": "show this list",
    "/quit": "end, as Ctrl-D; Ctrl-C stops an answer",
}
_PROMPT, _PASSAGES = "> ", 5
_STOPPED = "the answer was stopped; ask on, or end with /quit"


@dataclass
class Chat:
    """A conversation: the states of its turns, that with the last passages, its files, and whether a line failed."""

    asking: Asking
    thread: list[State] = field(default_factory=list)
    found: State | None = None
    saved: set[Path] = field(default_factory=set)
    failed: bool = False

    def run(self) -> None:
        """Take every line; one that fails is reported, and the next is read. From a pipe the exit code is then 1."""
        is_terminal = sys.stdin is not None and sys.stdin.isatty()
        if is_terminal:
            with suppress(ImportError):
                import readline  # noqa: F401  (lines are then edited, and earlier ones come back)
            note(f"Questions to {self.asking.index.path}, and follow-ups. /help lists commands, /quit or Ctrl-D ends.")
        if isinstance(sys.stdin, TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        while self._goes_on(is_terminal):
            pass
        if self.failed and not is_terminal:
            raise SystemExit(1)

    def _goes_on(self, is_terminal: bool) -> bool:
        """Read a line and take it; return whether there is a next one."""
        try:
            line = _line(is_terminal)
        except KeyboardInterrupt:  # on a terminal the line is dropped
            if not is_terminal:
                raise
            say("")
            return True
        try:
            goes_on = line is not None and self.take(line.lstrip("\ufeff").strip())
            flush_output()
            return goes_on
        except KeyboardInterrupt:
            note(f"graphwright: {_STOPPED}")
            if self.asking.query.as_json:
                print_json({"error": "KeyboardInterrupt", "message": _STOPPED})
                flush_output()
        except BrokenPipeError:
            raise
        except Exception as error:
            self.failed = True
            report(error, as_json=self.asking.query.as_json)
        return True

    def take(self, line: str) -> bool:
        """Do a command, or answer a turn, such as "/word more words"; return whether the conversation goes on."""
        word, _, rest = line.partition(" ")
        names = {known.split()[0]: known for known in _COMMANDS}
        if word in names or (word.startswith("/") and (not rest or meant(word, names))):
            if word not in names:
                raise OptionError(f"there is no command {word}.{meant(word, names)} /help lists them.")
            if bool(rest.strip()) != (" " in names[word]):
                raise OptionError(f"{line!r} is not a command as it stands; give {names[word]}")
            if word == "/new":
                self.thread, self.found, self.saved = [], None, set()
            elif word == "/sources":
                self._show_sources()
            elif word == "/save":
                self._save(rest.strip())
            elif word == "/help":
                note("\n".join(f"{command:<12}{meaning}" for command, meaning in _COMMANDS.items()))
            return word != "/quit"
        if line:
            self._answer(line)
        return True

    def _answer(self, line: str) -> None:
        state = self.asking.answer(line, self.thread)
        if self.thread and not sys.stdout.isatty() and not self.asking.query.as_json:
            say("")
        # A long conversation keeps of each turn what is shown again.
        kept = state.with_(trace=(), evidence=None, anchors=None, context=None)
        self.thread.append(kept)
        self.found = self.found if state.passages is None else kept
        self.asking.show(state, 0)

    def _show_sources(self) -> None:
        if self.found is None:
            raise OptionError("nothing was searched yet, so there are no passages. Ask a question first.")
        if self.asking.query.as_json:
            note("note: with --json the object of each turn has its passages.")
        else:
            show_passages(self.found, self.asking.query.top_k or _PASSAGES)

    def _save(self, name: str) -> None:
        path = Path(name[1:-1] if name[0] == name[-1] and name[0] in "'\"" and len(name) > 2 else name).expanduser()
        if not self.thread:
            raise OptionError("nothing was asked yet, so there is nothing to save. Ask a question first.")
        if path.exists() and path.resolve() not in self.saved:
            raise OptionError(f"{path} exists already; nothing was written. Give another name.")
        write_text(path, markdown(self.thread, self.asking.index.path.name))
        self.saved.add(path.resolve())
        note(f"wrote {path}")


def _line(is_terminal: bool) -> str | None:
    """Return the next line of the input, None at its end. The prompt is no part of an output that is kept."""
    if not is_terminal:
        return None if sys.stdin is None else sys.stdin.readline() or None
    if not sys.stdout.isatty():
        note(_PROMPT, end="")
    try:
        return input(_PROMPT if sys.stdout.isatty() else "")
    except EOFError:
        note("")
        return None


def markdown(thread: Iterable[State], name: str) -> str:
    """Return a conversation as Markdown: each turn, what it was taken to mean, the answer, its sources."""
    parts = [f"# Conversation with {escaped(name)}"]
    for state in thread:
        parts.append(f"## {escaped(state.question.turn or state.question.original)}")
        if state.question.turn:
            parts.append(f"*Taken to mean: {escaped(state.question.original)}*")
        if state.answer is not None:
            parts.append(state.answer.text)
            sources = [
                f"- [{number}] {escaped(source_line(state, cited).plain)}: “{escaped(cited.text)}”"
                for number, cited in enumerate(state.answer.citations, 1)
            ]
            parts += ["\n".join(sources)] if sources else []
    return "\n\n".join(parts) + "\n"
