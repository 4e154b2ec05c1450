"""Language models that answer for each index, and the model servers that indexes may use.

The `settings.toml` of an index may come from an untrusted source. It may choose a model only on a server that
server.toml lists, and each key is sent only to the address that it is listed with.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from graphwright.constraints import Checked, Constraint
from graphwright.errors import GraphwrightError, LLMResponseError, ModelError, OptionError, ReplyCutError
from graphwright.models import LLM, Completion, LLMSettings
from graphwright.models.openai.model import OPENAI_URL, checked_address
from graphwright.models.protocols import Cancel, OnText, Schema
from graphwright.models.settings import SETTINGS, read_settings

_log = logging.getLogger("graphwright.serve")
_NO_KEY = "none"  # servers ignore it; without a key the client would send OPENAI_API_KEY
_CONNECT_TIMEOUT = 5.0  # seconds of the check whether a server responds
_QUOTED = re.compile(r"""(?:, but|:) (['"]).*\1""", re.DOTALL)
_VARIABLE = Constraint(
    "the name of an environment variable", lambda value: bool(re.fullmatch("[A-Z_][A-Z0-9_]*", value))
)


@dataclass(frozen=True)
class ModelServer(Checked):
    """A section [[model_servers]] of server.toml: a server whose models indexes may choose in their settings.toml.

    `base_url`: the whole address; another path or port is another server. `key`: the environment variable with the key
    for this server; None sends no key.
    """

    base_url: str
    key: Annotated[str | None, _VARIABLE] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "base_url", checked_address(self.base_url))


class AnswerModels:
    """The language model of each index: from server.toml, else from the index's settings if their server is listed."""

    def __init__(
        self,
        shared: LLMSettings | None,
        servers: Iterable[ModelServer] = (),
        folders: Mapping[str, Path] | None = None,
        report: Callable[[str, str, ModelError], None] | None = None,
    ) -> None:
        """Choose the models.

        `shared`: the model for all indexes, if any. `servers`: servers that indexes may use. `folders`: index folders
        by name. `report`: called with the index, the model and the error of each failed call. A model that is not
        allowed is left out and logged. Raises OptionError if the environment lacks the key of an allowed one.
        """
        self._report = report or (lambda index, model, error: None)
        self._chosen: dict[str, LLMSettings] = {}
        self._models: dict[LLMSettings, LLM] = {}
        listed = {server.base_url: server for server in servers}
        for name, folder in (folders or {}).items():
            chosen = shared or _allowed(name, folder, listed)
            if chosen is not None:
                self._chosen[name] = chosen
                if chosen not in self._models:
                    key = None if shared is not None else _key(listed[str(chosen.base_url)])
                    self._models[chosen] = chosen.llm(key)

    def llm(self, index: str) -> LLM | None:
        """Return the language model of an index; None if it answers offline."""
        chosen = self._chosen.get(index)
        return None if chosen is None else self._models[chosen]

    def settings(self, index: str) -> LLMSettings | None:
        """Return the settings of an index's language model."""
        return self._chosen.get(index)

    def answering(self, index: str) -> LLM | None:
        """Return the language model that answers questions to an index and reports its failures."""
        llm, name = self.llm(index), self.name(index)
        if llm is None or name is None:
            return None
        return WatchedLLM(llm, lambda error: self._report(index, name, error))

    def warn_of_unreachable(self) -> None:
        """Log a warning for each model whose server does not respond."""
        for chosen in self._models:
            if reason := unreachable(chosen):
                _log.warning(
                    "the language model %s cannot be reached: %s. Questions fail with 502 until it responds; with "
                    '"offline": true they need no model.',
                    *(chosen.model, reason),
                )

    def name(self, index: str) -> str | None:
        """Return the name of an index's language model on its server."""
        chosen = self.settings(index)
        return None if chosen is None else chosen.model


def _allowed(name: str, folder: Path, listed: Mapping[str, ModelServer]) -> LLMSettings | None:
    """Return the model in the settings of an index; None if there is none, or it is not allowed."""
    try:
        settings = read_settings(folder / SETTINGS)
    except GraphwrightError as error:
        _log.warning("index %r answers offline: %s", name, error)
        return None
    if settings is None:
        return None
    address = OPENAI_URL if settings.base_url is None else checked_address(settings.base_url)
    if address in listed:
        return replace(settings, base_url=address)
    _log.warning(
        "index %r answers offline: its %s names a model on %s, which this server does not list. If you trust that, add "
        'to server.toml: [[model_servers]] base_url = "%s"',
        *(name, SETTINGS, address, address),
    )
    return None


def _key(server: ModelServer) -> str:
    if server.key is None:
        return _NO_KEY
    key = os.environ.get(server.key, "").strip()
    if not key:
        raise OptionError(f"the environment variable {server.key}, the key for {server.base_url}, is empty; set it.")
    return key


@dataclass(frozen=True, repr=False)
class WatchedLLM:
    """A language model that calls `report` with the error of each failed call, unless the caller has disconnected."""

    llm: LLM
    report: Callable[[ModelError], None] = field(compare=False)

    def __repr__(self) -> str:
        return repr(self.llm)

    @property
    def id(self) -> str:
        """Name of the model."""
        return self.llm.id

    def with_grammar(self, grammar: str) -> WatchedLLM:
        """Return the model with every reply constrained to a grammar."""
        return WatchedLLM(self.llm.with_grammar(grammar), self.report)  # type: ignore[attr-defined]

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Answer one prompt as the model does."""
        try:
            return self.llm.complete(system, user, schema=schema, on_text=on_text, cancel=cancel)
        except ModelError as error:
            if not _is_cancelled(cancel):
                self.report(error)
            raise


def _is_cancelled(cancel: Cancel) -> bool:
    """Return whether the caller has disconnected. A deadline that has passed is a failure of the model instead."""
    try:
        if cancel is not None:
            cancel.check()
    except ReplyCutError:
        return False
    except ModelError:
        return True
    return False


def reason_of(error: ModelError) -> str:
    """Return the reason of a failed call for the log, without the model's reply, which may quote documents.

    >>> reason_of(LLMResponseError("http://m did not send JSON, but 'Graz lies on'."))
    'http://m did not send JSON.'
    """
    return _QUOTED.sub("", str(error)) if isinstance(error, LLMResponseError | ReplyCutError) else str(error)


def unreachable(settings: LLMSettings) -> str:
    """Return the reason why a language model's server cannot be reached; "" if it responds. No key is sent."""
    import httpx

    url = settings.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    try:
        httpx.get(f"{url.rstrip('/')}/models", timeout=_CONNECT_TIMEOUT)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return f"{url} does not answer ({error or type(error).__name__})"
    return ""
