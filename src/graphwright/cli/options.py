"""Options that several commands share, and the language model and the filter that they describe."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphwright.errors import OptionError

if TYPE_CHECKING:
    from graphwright.index.filter import Filter
    from graphwright.models.protocols import LLM
    from graphwright.models.settings import LLMSettings

__all__ = [
    "AsJson",
    "BaseUrl",
    "ChunkTokens",
    "Document",
    "DocumentFolder",
    "Encoder",
    "Entity",
    "Explain",
    "Gleanings",
    "IndexFolder",
    "Into",
    "Llm",
    "MaxCost",
    "MaxTokens",
    "Method",
    "Offline",
    "Overlap",
    "Prices",
    "Retriever",
    "TopK",
    "Where",
    "filter_of",
    "llm_client",
    "llm_settings",
    "names_in",
]

IndexFolder = Annotated[Path, typer.Option("--index", help="Index folder.")]
Into = Annotated[Path, typer.Option("--into", help="Index folder; created if it does not exist.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help="Retrieval method; 'graphwright methods' lists them (default: ppr; rog for an imported graph).",
    ),
]
Entity = Annotated[
    list[str] | None,
    typer.Option("--entity", help="Name of a node that the question is about, instead of linking. Repeatable."),
]
Retriever = Annotated[
    Path | None, typer.Option("--retriever", help="Trained retriever for --method reg; see 'graphwright train'.")
]
TopK = Annotated[int | None, typer.Option("--top-k", "-k", min=1, help="Number of passages.")]
Document = Annotated[list[str] | None, typer.Option("--document", help="Search only this document id. Repeatable.")]
DocumentFolder = Annotated[
    str | None, typer.Option("--folder", help="Search only documents whose id lies in this folder.")
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", help="Search only documents with this metadata, as NAME=VALUE. Repeatable."),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show what each step did, and its time and tokens.")]

Encoder = Annotated[
    str | None,
    typer.Option(
        help="Text encoder of a new index: minilm (embedded), sbert:NAME or endpoint:MODEL@URL (default: minilm)."
    ),
]
ChunkTokens = Annotated[
    int | None, typer.Option(min=16, help="Maximum tokens of a chunk, for a new index (default: 200).")
]
Overlap = Annotated[
    int | None, typer.Option(min=0, help="Tokens that neighbouring chunks share, for a new index (default: 40).")
]

Llm = Annotated[str | None, typer.Option("--llm", help="Language model, by its name on the server.")]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url", help="OpenAI-compatible server, such as http://localhost:11434/v1 (default: OpenAI's own)."
    ),
]
Offline = Annotated[bool, typer.Option("--offline", help="Use no language model, even if settings.toml names one.")]
Gleanings = Annotated[bool, typer.Option("--gleanings", help="Extract twice, to find what the first pass missed.")]
Prices = Annotated[
    str | None, typer.Option("--prices", help="Price of a million input and output tokens, such as 0.15,0.60.")
]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=0, help="Stop before more LLM tokens are used.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", min=0, help="Stop before the LLM costs more.")]


def llm_settings(
    folder: Path, llm: str | None, base_url: str | None, prices: str | None = None, *, offline: bool = False
) -> LLMSettings | None:
    """Return the settings of the language model: the options, else the settings.toml of the index folder.

    None if there is no language model. Raises OptionError for options that contradict each other.
    """
    from graphwright.models.settings import SETTINGS, LLMSettings, read_settings

    if offline:
        if llm or base_url:
            raise OptionError("--offline uses no language model; leave out --llm and --base-url.")
        return None
    settings = read_settings(folder / SETTINGS)
    if settings is None and llm is None:
        if base_url:
            raise OptionError(f"--base-url {base_url} names a server but no model; add --llm MODEL.")
        return None
    if settings is None:
        settings = LLMSettings(str(llm), base_url)
    elif llm not in (None, settings.model):  # the stored prices are those of another model
        settings = replace(settings, prompt_price=None, completion_price=None)
    settings = replace(settings, model=llm or settings.model, base_url=base_url or settings.base_url)
    if prices is None:
        return settings
    prompt_price, completion_price = _two_prices(prices)
    return replace(settings, prompt_price=prompt_price, completion_price=completion_price)


def _two_prices(prices: str) -> tuple[float, float]:
    try:
        prompt_price, completion_price = map(float, prices.split(","))
    except ValueError:
        raise OptionError(
            f"--prices is {prices!r}; give two numbers, for a million input and a million output tokens: 0.15,0.60"
        ) from None
    return prompt_price, completion_price


def llm_client(
    settings: LLMSettings, folder: Path, *, max_tokens: int | None = None, max_cost: float | None = None
) -> LLM:
    """Return a client of the language model that stays within a budget and caches replies in the index folder."""
    from graphwright.index.layout import IndexLayout
    from graphwright.models.budget import BudgetedLLM
    from graphwright.models.replies import CachedLLM

    model: LLM = settings.endpoint()
    if max_tokens is not None or max_cost is not None:
        model = BudgetedLLM(model, max_tokens, max_cost)
    writable = os.access(folder, os.W_OK) or not folder.exists()  # a missing folder will be created by its command
    return CachedLLM(model, IndexLayout(folder).replies) if writable else model


def filter_of(documents: list[str] | None, folder: str | None, where: list[str] | None) -> Filter | None:
    """Return the filter that --document, --folder and --where describe; None if none is given."""
    from graphwright.index.filter import Filter

    if documents is None and folder is None and not where:
        return None
    metadata: dict[str, str] = {}
    for pair in where or ():
        name, equals, value = pair.partition("=")
        if not equals:
            raise OptionError(f"--where is {pair!r}; give NAME=VALUE, such as --where year=2024")
        if name in metadata:
            raise OptionError(f"--where names {name!r} twice; a document has one value for it. Give it once.")
        metadata[name] = value
    return Filter(documents, folder, metadata)


def names_in(text: str | None) -> tuple[str, ...] | None:
    """Return the names in a list separated by commas; None if the option was not given.

    >>> names_in("passages, names"), names_in(None)
    (('passages', 'names'), None)
    """
    return None if text is None else tuple(name for name in map(str.strip, text.split(",")) if name)
