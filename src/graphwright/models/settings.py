"""Settings of the language model that an index uses, stored in `settings.toml` in its folder.

    [llm]
    model = "qwen2.5:7b"
    base_url = "http://localhost:11434/v1"

A key is never stored: it stays in the environment, as OPENAI_API_KEY.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from graphwright.constraints import JSON_OBJECT, TEXT, AtLeast, Between, Checked, OneOf
from graphwright.errors import DataError, OptionError, meant
from graphwright.models.budget import Prices, Rate
from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.openai.model import checked_address

SETTINGS = "settings.toml"  # name of the file in an index folder


@dataclass(frozen=True)
class LLMSettings(Checked):
    """A language model and its limits.

    Of a question that is asked on the command line, `deadline`: seconds for all replies, None is no limit;
    `instruction`: how the text of an answer is to be written, such as "in German, at most 80 words".
    `prompt_price`, `completion_price`: price of a million tokens; `prompt_rate`, `completion_rate`: tokens a second
    that the server reads and writes, over all requests; of each pair both or neither. `extraction`, `gleanings`: see
    GenerativeExtractor. The other fields are those of OpenAILLM. Raises OptionError for a wrong value.
    """

    model: Annotated[str, TEXT]
    base_url: Annotated[str | None, TEXT] = None
    timeout: Annotated[float, Between(0.001, 86_400)] = 120.0
    concurrency: Annotated[int, Between(1, 10_000)] = 8
    max_tokens: Annotated[int, Between(1, 10**9)] = 2048
    temperature: Annotated[float, Between(0, 2)] = 0.0
    reasoning_effort: Annotated[str | None, TEXT] = None
    max_completion_tokens: Annotated[int | None, Between(1, 10**9)] = None
    seed: Annotated[int | None, Between(-(2**63), 2**63 - 1)] = None
    extra_body: Annotated[Mapping[str, Any] | None, JSON_OBJECT] = field(default=None, hash=False)
    prompt_price: Annotated[float | None, Between(0, 10**9)] = None
    completion_price: Annotated[float | None, Between(0, 10**9)] = None
    prompt_rate: Annotated[float | None, Between(0, 10**9, open_low=True)] = None
    completion_rate: Annotated[float | None, Between(0, 10**9, open_low=True)] = None
    extraction: Annotated[str, OneOf("full", "triples")] = "full"
    gleanings: Annotated[int, AtLeast(0)] = 0
    deadline: Annotated[float | None, Between(0.001, 86_400)] = None
    instruction: Annotated[str | None, TEXT] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.model.strip():
            raise OptionError("model is empty; give the model's name on the server.")
        if self.base_url is not None:
            checked_address(self.base_url)
        for pair in ("prices", "rates"):
            first, second = f"prompt_{pair[:-1]}", f"completion_{pair[:-1]}"
            if (getattr(self, first) is None) != (getattr(self, second) is None):
                raise OptionError(f"One of two {pair} is missing; give {first} and {second}, or neither.")

    @property
    def prices(self) -> Prices | None:
        """Prices of a million tokens; None where they are unknown."""
        if self.prompt_price is None or self.completion_price is None:
            return None
        return Prices(self.prompt_price, self.completion_price)

    @property
    def rate(self) -> Rate | None:
        """Tokens a second of the server; None where they are unknown."""
        if self.prompt_rate is None or self.completion_rate is None:
            return None
        return Rate(self.prompt_rate, self.completion_rate)

    def llm(self, api_key: str | None = None) -> OpenAILLM:
        """Return the model. Its key comes from the environment by default."""
        prices = ("prompt_price", "completion_price", "prompt_rate", "completion_rate")
        others = (*prices, "extraction", "gleanings", "deadline", "instruction")
        options = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in others}
        return OpenAILLM(**options, api_key=api_key, prices=self.prices)


_SECRET = re.compile("key|secret|password|bearer|auth|credential|token$", re.IGNORECASE)


def read_settings(path: str | Path) -> LLMSettings | None:
    """Read the settings from a TOML file; None where there is no file or no section [llm].

    Raises OptionError, with file and key, for an unknown name, wrong value or secret; DataError if unreadable.
    """
    path = Path(path)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # editors may write a byte order mark
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        file = next(above for above in path.parents if above.is_file())
        raise DataError(f"{file} is a file, not a folder; an index is a folder. Name another one.") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error}); check its permissions.") from error
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested too deeply
        raise OptionError(f"{path} is not TOML ({error}); correct it, or delete it to do without one.") from error
    try:
        _check_names(tables, ["llm"], "section [{}]")
        return _settings_of(tables["llm"]) if "llm" in tables else None
    except OptionError as error:
        raise OptionError(f"{path}: {error}") from None


def _settings_of(table: Any) -> LLMSettings:
    if not isinstance(table, dict):
        raise OptionError(f"llm is {table!r}; it must be a section, begun by a line [llm].")
    _check_names(table, [field.name for field in fields(LLMSettings)], "[llm] {}")
    if "model" not in table:
        raise OptionError('[llm] names no model; add a line such as model = "gpt-4o-mini".')
    return LLMSettings(**table)


def _check_names(names: Iterable[str], known: list[str], pattern: str) -> None:
    for name in names:
        if name in known:
            continue
        if _SECRET.search(name):
            raise OptionError(
                f"{pattern.format(name)} looks like a secret, which no file of an index may contain. Delete the line, "
                f"and keep it in the environment: OPENAI_API_KEY."
            )
        raise OptionError(f"{pattern.format(name)} is unknown; the names are {', '.join(known)}.{meant(name, known)}")
