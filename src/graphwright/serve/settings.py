"""Settings of the server, from the command line and `server.toml`, never from an index; and the models that answer.

The `settings.toml` of an index may come from an untrusted source. It may choose a model only on a server that
server.toml lists, and each key is sent only to the address that it is listed with.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

from graphwright.constraints import AtLeast, Between, Checked, Constraint, OneOf
from graphwright.data import scheme_of
from graphwright.errors import DataError, GraphwrightError, OptionError, check_installed, meant
from graphwright.models import LLM, LLMSettings, OpenAILLM
from graphwright.models.openai.model import OPENAI_URL, checked_address
from graphwright.models.settings import SETTINGS, read_settings
from graphwright.serve.failures import WatchedLLM
from graphwright.serve.logs import log

_NO_KEY = "none"  # servers ignore it; without a key the client would send OPENAI_API_KEY
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
        report: Callable[[str, str, str], None] | None = None,
        offered: Iterable[LLMSettings] = (),
        processes: int = 1,
    ) -> None:
        """Choose the models.

        `shared`: the model for all indexes, if any. `servers`: servers that indexes may use. `folders`: index folders
        by name. `report`: called with the index, the model and the reason of each failed call. `offered`: models
        that every question may choose. `processes`: those that answer, each with its part of a model's concurrency. A
        model of an index that is not allowed is left out and logged. Raises OptionError for an offered one that is not,
        and if the environment lacks the key of an allowed one.
        """
        self._report = report or (lambda index, model, reason: None)
        self._processes = processes
        self._chosen: dict[str, LLMSettings] = {}
        self._models: dict[LLMSettings, LLM] = {} if shared is None else {shared: shared.llm()}
        self._quick: dict[LLMSettings, LLM] = {}  # with one retry
        self.named = {settings.model: settings for settings in self._models}  # those that an index can choose
        self._listed = listed = {server.base_url: server for server in servers}
        own = [] if shared is None else [shared.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL]
        self.addresses = list(dict.fromkeys((*map(checked_address, own), *listed)))  # that offered models may have
        self._offered = dict[str, LLMSettings]()
        for settings in offered:
            self.offer(settings)
        for name, folder in (folders or {}).items():
            chosen = shared or _allowed(name, folder, listed)
            if chosen is not None:
                self._chosen[name] = chosen
                if chosen not in self._models:
                    self._models[chosen] = chosen.llm(_key(listed[str(chosen.base_url)]))
                    self.named.setdefault(chosen.model, chosen)

    def offer(self, settings: LLMSettings) -> LLMSettings:
        """Offer a model to all questions; return it with its address. Raises OptionError for another server or name."""
        address = OPENAI_URL if settings.base_url is None else checked_address(settings.base_url)
        if settings.model in self.named:
            raise OptionError(f"The model {settings.model!r} is there already; a name stands for one model.")
        if address not in self.addresses:
            raise OptionError(
                f"The model {settings.model!r} is on {address}, which this server does not list. If you trust that, "
                f'add to server.toml: [[model_servers]] base_url = "{address}"'
            )
        offered = replace(settings, base_url=address)
        listed = self._listed.get(address)
        self._models[offered] = offered.llm(None if listed is None else _key(listed))  # else with the key of [llm]
        self.named[offered.model] = self._offered[offered.model] = offered
        return offered

    def withdraw(self, model: str) -> None:
        """Offer a model no longer; questions that it answers already go on."""
        del self._offered[model], self.named[model]

    def choices(self, index: str) -> list[str]:
        """Return the names of the models that a question to an index may choose, its own first."""
        return list(dict.fromkeys(name for name in (self.name(index), *self._offered) if name is not None))

    def choose(self, index: str, model: str | None) -> None:
        """Answer an index by a model from now on; offline for None, and for a model that is not configured."""
        self._chosen.pop(index, None)
        if (named := self.named.get(str(model))) is not None:
            self._chosen[index] = named
        elif model is not None:
            log.warning("index %r answers offline: the model %r is not configured", index, model)

    def llm(self, index: str) -> LLM | None:
        """Return the language model of an index; None if it answers offline."""
        chosen = self._chosen.get(index)
        return None if chosen is None else self._models[chosen]

    def settings(self, index: str) -> LLMSettings | None:
        """Return the settings of an index's language model."""
        return self._chosen.get(index)

    def answering(self, index: str, model: str | None = None) -> WatchedLLM | None:
        """Return the model that answers a question, its own `model` or the index's. Raises OptionError if it cannot."""
        chosen = self.settings(index) if model in (None, self.name(index)) else self._offered.get(str(model))
        if chosen is None and model is not None:
            known = ", ".join(self.choices(index)) or "none"
            raise OptionError(f"{model!r} is no language model that a question here may choose; those are: {known}.")
        if chosen is None:
            return None
        llm, name = self._quick.get(chosen) or self._models[chosen], chosen.model
        if isinstance(llm, OpenAILLM) and chosen not in self._quick:
            concurrency = -(-llm.concurrency // self._processes)
            llm = self._quick[chosen] = replace(llm, retries=min(llm.retries, 1), concurrency=concurrency)
        return WatchedLLM(llm, lambda reason: self._report(index, name, reason))

    def name(self, index: str) -> str | None:
        """Return the name of an index's language model on its server."""
        chosen = self.settings(index)
        return None if chosen is None else chosen.model


def _allowed(name: str, folder: Path, listed: Mapping[str, ModelServer]) -> LLMSettings | None:
    """Return the model in the settings of an index; None if there is none, or it is not allowed."""
    try:
        settings = read_settings(folder / SETTINGS)
    except GraphwrightError as error:
        log.warning("index %r answers offline: %s", name, error)
        return None
    if settings is None:
        return None
    address = OPENAI_URL if settings.base_url is None else checked_address(settings.base_url)
    if address in listed:
        return replace(settings, base_url=address)
    log.warning(
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


_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")
_ROOT_PATH = Constraint("a path such as /wiki, or empty", lambda value: bool(_PATH.fullmatch(str(value))))
_PUBLIC_URL = Constraint(
    "an address that ends in a slash, or empty", lambda value: bool(re.fullmatch(r"(https?://\S+/)?", str(value)))
)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_MB = 2**20


def default_data_folder() -> Path:
    """Return the platform's default folder for keys and jobs."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "graphwright"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "graphwright"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "graphwright"


@dataclass(frozen=True)
class SyncSource(Checked):
    """A folder or address that an index is synced with; `every`: seconds until the next sync, None on request."""

    place: Path | str
    every: Annotated[float | None, Between(60, 604_800)] = None  # up to a week, for which jobs are kept

    @property
    def address(self) -> str:
        """The address for a sync; of a folder its path."""
        return self.place if isinstance(self.place, str) else str(self.place.resolve())


@dataclass(frozen=True)
class ServeSettings(Checked):
    """Settings of one server; the table in docs/deploy.md describes each.

    Times are in seconds, sizes in bytes. None is no limit, or nothing of the kind. `folders`: folders and other sources
    that can be synced, by index and name. `watch`: whether the folders are synced when they change.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Between(0, 65_535)] = 8000
    root_path: Annotated[str, _ROOT_PATH] = ""
    public_url: Annotated[str, _PUBLIC_URL] = ""
    data: Path = field(default_factory=default_data_folder)
    processes: Annotated[int, Between(1, 256)] = 1
    threads: Annotated[int, Between(1, 256)] = field(default_factory=lambda: max(2, os.cpu_count() or 2))
    llm_threads: Annotated[int, Between(1, 1024)] = 16
    queue: Annotated[int, Between(0, 100_000)] = 128
    timeout: Annotated[float, Between(0.1, 86_400)] = 120.0
    poll_seconds: Annotated[float, Between(0.1, 86_400)] = 10.0
    deadline: Annotated[float | None, Between(0.001, 86_400)] = 90.0
    instruction: str = ""
    max_body: Annotated[int, AtLeast(1024)] = 4 * _MB
    max_upload: Annotated[int, AtLeast(1024)] = 256 * _MB
    max_question: Annotated[int, Between(1, 1_000_000)] = 8_000
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    requests_per_minute: Annotated[int | None, AtLeast(1)] = None
    failures_per_minute: Annotated[int, AtLeast(1)] = 30
    session_hours: Annotated[float, Between(0.01, 8_760)] = 12.0
    allow_write: bool = False
    footer: bool = False
    log_format: Annotated[str, OneOf("text", "json")] = "text"
    encoders: tuple[str, ...] = ()
    model_servers: tuple[ModelServer, ...] = ()
    llm: LLMSettings | None = None
    models: tuple[LLMSettings, ...] = ()
    max_unpacked: Annotated[int, AtLeast(1024)] = 1024 * _MB
    max_files: Annotated[int, AtLeast(1)] = 10_000
    max_originals: Annotated[int, AtLeast(0)] = 4096 * _MB
    extract: bool = False
    max_job_tokens: Annotated[int | None, AtLeast(0)] = None
    max_job_cost: Annotated[float | None, AtLeast(0)] = None
    folders: Mapping[str, Mapping[str, SyncSource]] = field(default_factory=dict)
    watch: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.watch:
            check_installed("watchfiles", "watch", "Watching a folder")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return self.host in _LOOPBACK or self.host.startswith("127.")


def read_server_file(path: Path, **options: Any) -> ServeSettings:
    """Read the settings of a TOML file; `options` that are not None replace them.

    Names are the fields of ServeSettings; the sections [llm] and [[models]] are LLMSettings,
    [[model_servers]] ModelServer. Raises DataError if the file cannot be read, OptionError with the file's name for an
    unknown name or a wrong value.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error}); check its name and its permissions.") from error
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested too deeply
        raise OptionError(f"{path} is not TOML ({error}); correct it.") from error
    try:
        settings = ServeSettings(**_values(table))
    except (OptionError, TypeError) as error:
        raise OptionError(f"{path}: {error}") from None
    return replace(settings, **{name: value for name, value in options.items() if value is not None})


def _values(table: Mapping[str, Any]) -> dict[str, Any]:
    known = [item.name for item in fields(ServeSettings)]
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in known:
            raise OptionError(f"{name!r} is unknown; the names are {', '.join(known)}.{meant(name, known)}")
        if name in ("model_servers", "models"):
            kind: type[Any] = ModelServer if name == "model_servers" else LLMSettings
            sections = value if isinstance(value, list) else [value]
            values[name] = tuple(kind(**_section(f"[{name}]", section)) for section in sections)
        elif name == "llm":
            values[name] = LLMSettings(**_section(name, value))
        elif name == "data":
            values[name] = _path(name, value)
        elif name == "folders":
            values[name] = {
                index: {given: _source(given, place) for given, place in _section(f"folders.{index}", folders).items()}
                for index, folders in _section(name, value).items()
            }
        else:
            values[name] = tuple(value) if isinstance(value, list) else value
    return values


def _section(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise OptionError(f"{name} is {value!r}; it must be a section, begun by a line [{name}].")
    return value


def _source(name: str, value: Any) -> SyncSource:
    """Return a source of `NAME = "ADDRESS"` or of `NAME = { address = "ADDRESS", every = SECONDS }`."""
    table = value if isinstance(value, dict) else {"address": value}
    if unknown := sorted(table.keys() - {"address", "every"}):
        raise OptionError(f"{name} has {unknown[0]!r}; a source has an address and perhaps every, in seconds.")
    place = table.get("address")
    if not (isinstance(place, str) and scheme_of(place)):
        place = _path(f"{name}.address" if table is value else name, place)
    try:
        return SyncSource(place, table.get("every"))
    except OptionError as error:
        raise OptionError(f"{name}: {error}") from None


def _path(name: str, value: Any) -> Path:
    if not isinstance(value, str) or "\0" in value:
        raise OptionError(f"{name} is {value!r}; it must be a path, in quotes.")
    try:
        return Path(value).expanduser()
    except RuntimeError as error:  # the home of an unknown user
        raise OptionError(f"{name} is {value!r}: {error} Give the whole path.") from error
