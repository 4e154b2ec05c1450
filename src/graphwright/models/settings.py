"""Which language model an index uses, kept in `settings.toml` beside it.

    [llm]
    model = "qwen2.5:7b"
    base_url = "http://localhost:11434/v1"

A key is never kept there: it stays in the environment, as OPENAI_API_KEY.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints
from urllib.parse import urlsplit

from graphwright.errors import DataError, OptionError, meant
from graphwright.files import write_text

if TYPE_CHECKING:
    from graphwright.models.endpoint import Endpoint, Prices

__all__ = ["SETTINGS", "LLMSettings", "read_settings", "write_settings"]

SETTINGS = "settings.toml"
"""Name of the file in an index folder."""


@dataclass(frozen=True)
class LLMSettings:
    """A language model and how it may be used.

    `base_url`: of an OpenAI-compatible server; None is OpenAI's own. `timeout`: seconds for one reply.
    `requests_per_minute`, `tokens_per_minute`: what the server allows; None is no limit. `concurrency`: requests at
    once. `max_tokens`: of one reply at most. `prompt_price`, `completion_price`: money for a million tokens, both or
    neither; `currency`: its name. `second_look`: ask again for what the first extraction from a chunk left out.
    Raises OptionError for a value that cannot be used.

    >>> LLMSettings("qwen2.5:7b", "http://localhost:11434/v1", concurrency=2).concurrency
    2
    """

    model: str
    base_url: str | None = None
    timeout: float = 120.0
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrency: int = 8
    max_tokens: int = 2048
    temperature: float = 0.0
    prompt_price: float | None = None
    completion_price: float | None = None
    currency: str | None = None
    second_look: bool = False

    def __post_init__(self) -> None:
        for name, kinds in _KINDS.items():
            object.__setattr__(self, name, _typed(name, getattr(self, name), kinds))
        if not self.model.strip():
            raise OptionError("model is empty; it is the name that the server knows the model by.")
        if self.base_url is not None:
            _check_url(self.base_url)
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise OptionError(f"{name} is {value!r}; it goes from {least} to {most:,}.")
        if (self.prompt_price is None) != (self.completion_price is None):
            raise OptionError("one price alone says no cost: give that of prompt tokens and that of completion tokens.")

    @property
    def prices(self) -> Prices | None:
        """What a million tokens cost; None where it is not known."""
        from graphwright.models.endpoint import Prices

        if self.prompt_price is None or self.completion_price is None:
            return None
        return Prices(self.prompt_price, self.completion_price)

    def endpoint(self, model: str | None = None, base_url: str | None = None, api_key: str | None = None) -> Endpoint:
        """Return the client; `model` and `base_url` go before what is kept here.

        The key comes from the environment unless given. Prices hold for the model that they were kept with, and for no
        other.
        """
        from graphwright.models.endpoint import Endpoint

        return Endpoint(
            model or self.model,
            base_url or self.base_url,
            api_key=api_key,
            timeout=self.timeout,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
            concurrency=self.concurrency,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            prices=self.prices if model in (None, self.model) else None,
        )


_KINDS: dict[str, tuple[type, ...]] = {
    name: get_args(hint) or (hint,) for name, hint in get_type_hints(LLMSettings).items()
}
_BOUNDS: dict[str, tuple[float, float]] = {
    "timeout": (0.001, 86_400),
    "requests_per_minute": (1, 10**9),
    "tokens_per_minute": (1, 10**12),
    "concurrency": (1, 10_000),
    "max_tokens": (1, 10**9),
    "temperature": (0, 2),
    "prompt_price": (0, 10**9),
    "completion_price": (0, 10**9),
}
_WORDS: dict[type, str] = {str: "text", float: "a number", int: "a whole number", bool: "true or false"}
_SECRET = re.compile("key|secret|password|bearer|auth|credential|token$", re.IGNORECASE)


def read_settings(path: str | Path) -> LLMSettings | None:
    """Read the settings of the language model from a TOML file; None where there is no file or no section [llm].

    Raises OptionError, which names file and key, for what is unknown, of a wrong type, or a secret; DataError where
    the file cannot be read.
    """
    path = Path(path)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # editors put a mark before the text
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        file = next(above for above in path.parents if above.is_file())
        raise DataError(f"{file} is a file, not a folder; an index is a folder. Name another one.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error}); check its permissions.") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise OptionError(f"{path} is not TOML ({error}); mend it, or delete it to use no language model.") from error
    try:
        _check_names(tables, ["llm"], "section [{}]")
        return _settings_of(tables["llm"]) if "llm" in tables else None
    except OptionError as error:
        raise OptionError(f"{path}: {error}") from None


def write_settings(path: str | Path, settings: LLMSettings) -> None:
    """Write a file that `read_settings` reads as the same settings, with what each key means; all of it or nothing.

    >>> import tempfile; path = Path(tempfile.mkdtemp()) / SETTINGS
    >>> write_settings(path, LLMSettings("gpt-4o-mini", requests_per_minute=500))
    >>> read_settings(path)
    LLMSettings(model='gpt-4o-mini', base_url=None, ..., requests_per_minute=500, ...)
    """
    write_text(path, _as_toml(settings))


def _settings_of(table: Any) -> LLMSettings:
    if not isinstance(table, dict):
        raise OptionError(f"llm is {table!r}; it is a section, begun by a line [llm].")
    _check_names(table, list(_KINDS), "[llm] {}")
    if "model" not in table:
        raise OptionError('[llm] names no model; add a line such as model = "gpt-4o-mini".')
    return LLMSettings(**table)


def _check_names(found: Iterable[str], known: list[str], shown: str) -> None:
    for name in found:
        if name in known:
            continue
        if _SECRET.search(name):
            raise OptionError(
                f"{shown.format(name)} looks like a secret, which no file of an index may hold. Delete the line, and "
                f"keep it in the environment: OPENAI_API_KEY."
            )
        raise OptionError(f"{shown.format(name)} is not known; there is {', '.join(known)}.{meant(name, known)}")


def _typed(name: str, value: Any, kinds: tuple[type, ...]) -> Any:
    """Return a value as one of its types; a whole number serves as a number."""
    if float in kinds and type(value) is int and abs(value) < 2**53:
        value = float(value)
    if type(value) not in kinds or (isinstance(value, float) and not math.isfinite(value)):
        raise OptionError(f"{name} is {value!r}; it is {_WORDS[kinds[0]]}.")
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise OptionError(f"{name} is {value!r}, which UTF-8 cannot hold.")
    return value


def _check_url(url: str) -> None:
    if set(url) & set("@?#"):
        # Not shown: it may hold a password.
        raise OptionError(
            "base_url holds a user, a password or a query; keep the key in the environment: OPENAI_API_KEY."
        )
    try:
        parts = urlsplit(url)
        well = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        well = False
    if not well:
        raise OptionError(f"base_url is {url!r}; it is an address such as http://localhost:11434/v1.")


# Each key as it stands in the file: what is written where nothing is set, and what it means.
_LINES = {
    "model": ("", "name of the model, as the server knows it"),
    "base_url": ("http://localhost:11434/v1", "an OpenAI-compatible server; OpenAI's own if not set"),
    "timeout": ("", "seconds for one reply"),
    "requests_per_minute": (60, "what the server allows; no limit if not set"),
    "tokens_per_minute": (100_000, "prompts and replies together; no limit if not set"),
    "concurrency": ("", "requests at once"),
    "max_tokens": ("", "of one reply at most"),
    "temperature": ("", "0 for the same reply to the same prompt, as far as the server can"),
    "prompt_price": (0.15, "money for a million tokens read, so that costs can be told"),
    "completion_price": (0.6, "money for a million tokens written"),
    "currency": ("USD", "of both prices"),
    "second_look": ("", "ask again for what the first extraction from a chunk left out"),
}


def _as_toml(settings: LLMSettings) -> str:
    lines = [
        "# The language model that this index uses. A key never stands here: it comes from the environment,",
        "# as OPENAI_API_KEY.",
        "",
        "[llm]",
    ]
    for name, (example, about) in _LINES.items():
        value = getattr(settings, name)
        shown = f"# {name} = {_literal(example)}" if value is None else f"{name} = {_literal(value)}"
        lines += [f"# {about}", shown]
    return "\n".join(lines) + "\n"


def _literal(value: Any) -> str:
    """Write a value as TOML has it, which is as JSON has it but for a bare delete character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
