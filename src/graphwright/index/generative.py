"""Entities and relations read from text by a language model.

A model sees one chunk at a time, as data, and can only answer with entities and relations. What it answers is cleaned,
merged and placed in the text, so that it can be stored and merged like what any other extractor finds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import KW_ONLY, dataclass, field
from functools import cache, lru_cache
from math import ceil
from threading import Lock
from typing import Any, Protocol

from graphwright.errors import BudgetError, LLMResponseError, ModelError, OptionError
from graphwright.index.extraction import Excerpt, Extraction, ExtractionFailure, Extractor, Mention, Relation
from graphwright.index.lexical import LexicalExtractor
from graphwright.index.precomputed import placed
from graphwright.models.budget import estimated_tokens
from graphwright.models.protocols import LLM
from graphwright.models.stopping import stopping
from graphwright.prompts import checksum, data_line, messages
from graphwright.text.names import normal_form

__all__ = ["Estimate", "GenerativeExtractor", "asked", "asked_again", "estimate"]

_LONGEST_NAME = 200  # characters; what is longer is no name
_LONGEST_TEXT = 1_000  # characters of a description
_KEYWORDS = 10  # of one relation
_SILENT = 3  # calls in a row without any reply, after which the model is taken to be gone
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


@dataclass(frozen=True)
class GenerativeExtractor:
    """Ask a language model for the entities and relations of each chunk.

    `second_look`: ask once more for what was missed, which doubles the calls. `threads`: calls at a time. `meanwhile`:
    the extractor whose reading of a chunk serves an index until the model has read it.

    >>> from graphwright.models.fake import ScriptedLLM
    >>> reply = '{"entities": [{"name": "Mur", "type": "river", "description": "A river."}], "relations": []}'
    >>> made, = GenerativeExtractor(ScriptedLLM([reply])).extract([Excerpt("d1", "Graz", "It lies on the Mur.")])
    >>> [(m.name, m.type, m.start, m.end) for m in made.mentions]
    [('Graz', '', 0, 0), ('Mur', 'river', 15, 18)]
    """

    llm: LLM
    _: KW_ONLY
    second_look: bool = False
    threads: int = 8
    meanwhile: Extractor = field(default_factory=LexicalExtractor)

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise OptionError(f"GenerativeExtractor: threads is {self.threads}; at least 1 has to make the calls.")

    @property
    def id(self) -> str:
        """Name and version, the model's id, and a checksum of what the model is told."""
        looks, told = ("+second look", ["extract", "extract_again"]) if self.second_look else ("", ["extract"])
        return f"generative:1:{self.llm.id}{looks}:{checksum(*told)}"

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction | ExtractionFailure]:
        """Return one contribution per excerpt, in order, or why there is none.

        A chunk is set aside where the model gave no reply, or none that fits. All that are left are set aside, without
        a call, once a budget is spent or three calls in a row had no reply at all. Any other error, and an interrupt,
        ends the extraction: what has not begun is not called for, and calls under way send nothing more.
        """
        line = _Line(self.llm)
        pool = ThreadPoolExecutor(self.threads, thread_name_prefix="extract")
        with stopping():
            try:
                # A context serves one thread at a time, and holds the caller's meters: one copy a chunk.
                tasks = [pool.submit(copy_context().run, self._read, excerpt, line) for excerpt in excerpts]
                return [task.result() for task in tasks]
            finally:
                line.close("the extraction was ended")
                pool.shutdown(wait=False, cancel_futures=True)

    def _read(self, excerpt: Excerpt, line: _Line) -> Extraction | ExtractionFailure:
        found = _Findings(excerpt)
        try:
            found.add(line.ask(*asked(excerpt)))
            if self.second_look:
                found.add(line.ask(*asked_again(excerpt, found.contribution())))
        except ModelError as error:
            # A reply that does not fit says nothing about the other chunks.
            closed = line.closed and not isinstance(error, LLMResponseError)
            return ExtractionFailure(_plain(str(error))[:_LONGEST_TEXT], closed)
        return found.contribution()


def asked(excerpt: Excerpt) -> tuple[str, str]:
    """Return what a model is told about a chunk, system and user; the last line is the chunk as JSON.

    >>> asked(Excerpt("d1", "Graz", 'It is "on" the Mur.\\n</text>'))[1].splitlines()[-1]
    '{"title": "Graz", "text": "It is \\\\"on\\\\" the Mur.\\\\n\\\\u003c/text>"}'
    """
    return messages("extract", passage=_passage(excerpt))


def asked_again(excerpt: Excerpt, found: Extraction) -> tuple[str, str]:
    """Return what a model is told for a second look: the rules of the first, the chunk, and what was found in it."""
    rules, _ = asked(excerpt)
    seen = {"entities": [m.name for m in found.mentions], "relations": [r[:3] for r in found.relations]}
    return messages("extract_again", rules=rules, passage=_passage(excerpt), found=data_line(seen))


def _passage(excerpt: Excerpt) -> str:
    return data_line({"title": excerpt.title, "text": excerpt.text})


@cache
def _schema() -> type[Any]:
    """Make, at first use, the model of a reply: what reads no new chunk must not wait for pydantic."""
    from pydantic import BaseModel

    class Entity(BaseModel):
        name: str
        type: str = ""
        description: str = ""

    class LinkEntities(BaseModel):
        source: str
        relation: str
        target: str
        description: str = ""
        keywords: list[str] = []

    class Findings(BaseModel):
        entities: list[Entity]
        relations: list[LinkEntities]

    return Findings


class _Line:
    """The way to a model that the threads of one extraction share; closed once it makes no sense to call on."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self._lock = Lock()
        self._silent = 0  # calls in a row without a reply
        self._closed = ""

    @property
    def closed(self) -> bool:
        """Whether no further call begins."""
        return bool(self._closed)

    def close(self, reason: str) -> None:
        """Let no further call begin."""
        with self._lock:
            self._closed = self._closed or reason

    def ask(self, system: str, user: str) -> Any:
        """Return the model's reply as an instance of the schema; ModelError where there is none, or no call."""
        if self._closed:
            raise ModelError(self._closed)
        try:
            value = self._llm.complete(system, user, schema=_schema()).value
        except BudgetError as error:
            self.close(f"the budget is spent: {error}")
            raise ModelError(self._closed) from error
        except LLMResponseError:
            self._count(0)
            raise
        except ModelError as error:
            if self._count(1) >= _SILENT:
                self.close(f"{_SILENT} calls in a row had no reply, the last: {error}")
            raise
        self._count(0)
        return value

    def _count(self, silent: int) -> int:
        """Note whether a call was answered; return how many in a row were not."""
        with self._lock:
            self._silent = (self._silent + 1) * silent
            return self._silent


class _Findings:
    """What a model found in one chunk: each entity and each relation once, under the first name given to it."""

    def __init__(self, excerpt: Excerpt) -> None:
        self._excerpt = excerpt
        self._entities: dict[str, Mention] = {}  # by normal form
        self._relations: dict[tuple[str, str, str], Relation] = {}
        self._title = self._entity(excerpt.title)

    def add(self, reply: Any) -> None:
        """Take what a reply gives, an instance of the schema."""
        for entity in reply.entities:
            self._entity(entity.name, entity.type, entity.description)
        for link in reply.relations:
            self._link(link)

    def contribution(self) -> Extraction:
        """Return all that was found, placed in the text, the title before everything else."""
        mentions = placed(self._entities.values(), self._excerpt, self._title)
        relations = (r if r.text else r._replace(text=" ".join(r[:3])) for r in self._relations.values())
        return Extraction(mentions, tuple(relations))

    def _entity(self, name: str, kind: str = "", description: str = "") -> str:
        """Take an entity and return the name that it goes by here, "" for what is no name."""
        name = _plain(name)
        form = normal_form(name)
        if not form or len(name) > _LONGEST_NAME:
            return ""
        known = self._entities.get(form, Mention(name))
        self._entities[form] = known._replace(
            type=known.type or _plain(kind)[:_LONGEST_NAME], description=_joined(known.description, description)
        )
        return known.name

    def _link(self, link: Any) -> None:
        head, tail = self._entity(link.source), self._entity(link.target)
        if not head or not tail or head == tail:
            return
        label = _plain(link.relation)[:_LONGEST_NAME] or "related to"
        key = head, label.casefold(), tail
        known = self._relations.get(key, Relation(head, label, tail, ""))
        words = dict.fromkeys([*known.keywords, *filter(None, map(_plain, link.keywords))])
        self._relations[key] = known._replace(
            text=_joined(known.text, link.description),
            keywords=tuple(word for word in words if len(word) <= _LONGEST_NAME)[:_KEYWORDS],
        )


def _plain(text: str) -> str:
    """Return a text on one line, without what cannot be stored."""
    return " ".join(_UNWRITABLE.sub(" ", text).split())


def _joined(known: str, more: str) -> str:
    """Return both texts, the second only where the first does not say it."""
    more = _plain(more)
    return known if more in known else f"{known} {more}".strip()[:_LONGEST_TEXT].rstrip()


class _Prices(Protocol):
    def cost(self, prompt_tokens: int, completion_tokens: int) -> float: ...


@dataclass(frozen=True, slots=True)
class Estimate:
    """How many chunks there are, and the calls, tokens and money that it takes to read them.

    `cost` is in the currency of the prices, None where none were given.

    >>> print(Estimate(1_000, 1_000, 800_000, 700_000, 0.54))
    chunks: 1,000
    calls: 1,000
    prompt tokens: about 800,000
    completion tokens: about 700,000
    cost: about 0.54
    """

    chunks: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None = None

    def lines(self) -> list[str]:
        """Return what people read, one figure to a line."""
        return [
            f"chunks: {self.chunks:,}",
            f"calls: {self.calls:,}",
            f"prompt tokens: about {self.prompt_tokens:,}",
            f"completion tokens: about {self.completion_tokens:,}",
            f"cost: {'not known without prices' if self.cost is None else f'about {self.cost:,.2f}'}",
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def estimate(
    excerpts: Iterable[Excerpt],
    *,
    second_look: bool = False,
    count_tokens: Callable[[str], int] = estimated_tokens,
    reply: float = 3.5,
    prices: _Prices | None = None,
) -> Estimate:
    """Return what GenerativeExtractor would take to read these chunks, without a call.

    Prompts are counted as they will be sent, by `count_tokens`; what a server adds to a message, such as the schema, is
    not known here. `reply`: tokens of a reply for each token of the chunk's text. A sentence of 20 tokens that names
    one new entity and states one relation takes about 70 tokens of JSON, hence the default. A second look counts as
    much as a first one, and as having the whole first reply in its prompt; both are more than it takes. Replies that
    have to be mended are not in the figure, and those that a cache knows are not taken off it. `prices`: what gives the
    money for so many tokens, such as models.budget.Prices. Raises OptionError for a negative `reply`.

    >>> made = estimate([Excerpt("d1", "Graz", "It lies on the Mur.")], second_look=True)
    >>> made.chunks, made.calls, made.completion_tokens, made.cost
    (1, 2, 36, None)
    """
    if not reply >= 0:
        raise OptionError(f"estimate: reply is {reply} tokens for each token of a text; it cannot be below 0.")
    count = lru_cache(maxsize=8)(count_tokens)  # the rules are the same for every chunk
    looks = 2 if second_look else 1
    chunks = prompt = completion = 0
    for excerpt in excerpts:
        replied = ceil(reply * count(excerpt.text))
        prompt += sum(map(count, asked(excerpt)))
        if second_look:
            prompt += sum(map(count, asked_again(excerpt, Extraction()))) + replied
        completion += looks * replied
        chunks += 1
    cost = None if prices is None else prices.cost(prompt, completion)
    return Estimate(chunks, looks * chunks, prompt, completion, cost)
