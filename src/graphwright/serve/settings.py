"""Settings of the server, from the command line and a file `server.toml`, never from an index folder."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

from graphwright.constraints import AtLeast, Between, Checked, Constraint, OneOf
from graphwright.errors import DataError, OptionError, meant
from graphwright.models import LLMSettings
from graphwright.serve.answer_models import ModelServer

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
class ServeSettings(Checked):
    """Settings of one server; the table in docs/deploy.md describes each.

    Times are in seconds, sizes in bytes. None is no limit, or nothing of the kind. `folders`: folders that
    can be synced, by index and name.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Between(0, 65_535)] = 8000
    root_path: Annotated[str, _ROOT_PATH] = ""
    public_url: Annotated[str, _PUBLIC_URL] = ""
    data: Path = field(default_factory=default_data_folder)
    threads: Annotated[int, Between(1, 256)] = field(default_factory=lambda: max(2, os.cpu_count() or 2))
    llm_threads: Annotated[int, Between(1, 1024)] = 16
    queue: Annotated[int, Between(0, 100_000)] = 128
    timeout: Annotated[float, Between(0.1, 86_400)] = 120.0
    poll_seconds: Annotated[float, Between(0.1, 86_400)] = 10.0
    deadline: Annotated[float | None, Between(0.001, 86_400)] = 90.0
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
    max_unpacked: Annotated[int, AtLeast(1024)] = 1024 * _MB
    max_files: Annotated[int, AtLeast(1)] = 10_000
    max_chunks: Annotated[int | None, AtLeast(1)] = None
    extract: bool = False
    max_job_tokens: Annotated[int | None, AtLeast(0)] = None
    max_job_cost: Annotated[float | None, AtLeast(0)] = None
    folders: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return self.host in _LOOPBACK or self.host.startswith("127.")


def read_server_file(path: Path, **options: Any) -> ServeSettings:
    """Read the settings of a TOML file; `options` that are not None replace them.

    Names are the fields of ServeSettings; the sections [llm] and [[model_servers]] are LLMSettings and
    ModelServer. Raises DataError if the file cannot be read, OptionError with the file's name for an
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
        if name == "model_servers":
            servers = value if isinstance(value, list) else [value]
            values[name] = tuple(ModelServer(**_section("[model_servers]", server)) for server in servers)
        elif name == "llm":
            values[name] = LLMSettings(**_section(name, value))
        elif name == "data":
            values[name] = _path(name, value)
        elif name == "folders":
            values[name] = {
                index: {given: _path(given, path) for given, path in _section(f"folders.{index}", folders).items()}
                for index, folders in _section(name, value).items()
            }
        else:
            values[name] = tuple(value) if isinstance(value, list) else value
    return values


def _section(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise OptionError(f"{name} is {value!r}; it must be a section, begun by a line [{name}].")
    return value


def _path(name: str, value: Any) -> Path:
    if not isinstance(value, str) or "\0" in value:
        raise OptionError(f"{name} is {value!r}; it must be a path, in quotes.")
    try:
        return Path(value).expanduser()
    except RuntimeError as error:  # the home of an unknown user
        raise OptionError(f"{name} is {value!r}: {error} Give the whole path.") from error
