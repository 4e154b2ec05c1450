"""Extraction of entities and relations by a language model, estimates of it, and values derived from the graph.

A value is stored under a checksum of the prompt and of all that the model reads, and depends on nothing else. Where it
is missing, the offline method is used.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from math import ceil
from threading import Lock
from typing import Annotated, Any, TypeVar

from graphwright.constraints import AtLeast, Checked, OneOf
from graphwright.errors import BudgetError, LLMResponseError, ModelError
from graphwright.extract.extraction import (
    ALSO_KNOWN_AS,
    Excerpt,
    Extraction,
    ExtractionFailure,
    Extractor,
    Mention,
    Relation,
    located,
)
from graphwright.extract.rules import LexicalExtractor
from graphwright.extract.schema import NO_SCHEMA, Schema
from graphwright.extract.typed import typed
from graphwright.models.budget import Prices, Rate, estimated_tokens
from graphwright.models.protocols import LLM, Cancellation, Usage
from graphwright.prompts.templates import PROMPTS, Prompts, data_line
from graphwright.text.names import normal_form

_MAX_UNANSWERED = 3  # calls in a row without a reply, after which the model counts as unreachable
Item = TypeVar("Item")
Result = TypeVar("Result")


class MeteredCalls:
    """Calls for one batch of work, shared by its threads; `ended`: the reason why further calls would fail, or ""."""

    def __init__(self, llm: LLM, usage: Usage) -> None:
        self.cancel = Cancellation()
        self.ended = ""
        self._llm, self._usage = llm, usage
        self._lock = Lock()
        self._unanswered = 0  # calls in a row without a reply

    def for_each(
        self,
        work: Callable[[Item, MeteredCalls], Result],
        items: Sequence[Item],
        threads: int,
        progress: Callable[[int], None] | None = None,
    ) -> list[Result]:
        """Return the work's results, done in threads; an error ends all calls. `progress`: given the results so far."""
        results = list[Result]()
        pool = ThreadPoolExecutor(threads, thread_name_prefix="extract")
        with self.cancel:
            try:
                tasks = [pool.submit(work, item, self) for item in items]
                for task in tasks:
                    results.append(task.result())
                    if progress is not None:
                        progress(len(results))
                return results
            finally:
                self.ended = self.ended or "the extraction was ended"
                pool.shutdown(wait=False, cancel_futures=True)

    def failure(self, error: ModelError, reason: str) -> ExtractionFailure:
        """Return the failure of one item; a reply that does not fit the schema does not affect the others."""
        return ExtractionFailure(reason, bool(self.ended) and not isinstance(error, LLMResponseError))

    def complete(self, prompt: str, system: str, user: str, reply: type[Any] | None = None, **more: Any) -> Any:
        """Return a reply, by default of the prompt's type, or text; `more`: arguments. Raises ModelError for none."""
        from graphwright.prompts.replies import REPLIES  # commands that extract nothing need not load pydantic

        if self.ended:
            raise ModelError(self.ended)
        try:
            schema = reply or REPLIES.get(prompt)
            completion = self._llm.complete(system, user, schema=schema, cancel=self.cancel, **more)
        except ModelError as error:
            with self._lock:
                self._add(error.usage or Usage())
                answered = isinstance(error, BudgetError | LLMResponseError)
                self._unanswered = 0 if answered else self._unanswered + 1
                if isinstance(error, BudgetError):
                    self.ended = f"the budget is exhausted: {error}"
                    raise ModelError(self.ended) from error
                if self._unanswered >= _MAX_UNANSWERED:
                    self.ended = f"{_MAX_UNANSWERED} calls in a row got no reply, the last: {error}"
            raise
        with self._lock:
            self._add(completion.usage)
            self._unanswered = 0
        return completion.text if completion.value is None else completion.value

    def _add(self, usage: Usage) -> None:
        self._usage.add(replace(usage, llm_calls=usage.calls))


@dataclass(frozen=True)
class Task:
    """A value to be derived: the name of the prompt, and the lines of data that it is filled with."""

    prompt: str
    lines: str
    prompts: Prompts = PROMPTS

    @cached_property
    def key(self) -> bytes:
        """Sixteen bytes that change with the prompt and the lines."""
        content = json.dumps([self.prompt, self.prompts.checksum(self.prompt), self.lines]).encode()
        return hashlib.blake2b(content, digest_size=16).digest()


@dataclass
class Derived:
    """Stored values by key, with the keys that a build used and those that it missed; `prompts` ask for them."""

    values: Mapping[bytes, str] = field(default_factory=dict)
    prompts: Prompts = PROMPTS
    used: set[bytes] = field(default_factory=set)
    missing: dict[bytes, Task] = field(default_factory=dict)

    def get(self, prompt: str, lines: str) -> str | None:
        """Return the value that a prompt derives from lines of data, None where it was not derived yet."""
        task = Task(prompt, lines, self.prompts)
        value = self.values.get(task.key)
        if value is None:
            self.missing[task.key] = task
        else:
            self.used.add(task.key)
        return value


def _answer(task: Task, calls: MeteredCalls) -> str | ExtractionFailure:
    try:
        value: str = calls.complete(task.prompt, *task.prompts.messages(task.prompt, lines=task.lines)).value
    except ModelError as error:
        return calls.failure(error, " ".join(str(error).split()))
    return value if value else ExtractionFailure("the model replied with an empty text")


_MAX_NAME = 200  # characters; a longer string is not a name
_MAX_DESCRIPTION = 1_000  # characters
_MAX_KEYWORDS = 10  # of one relation
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


@dataclass(frozen=True)
class ExtractionKind:
    """A kind of extraction: its prompt, which also names the schema of its reply."""

    name: str
    prompt: str
    reply_ratio: float  # tokens of a reply per token of a text; measured by benchmarks/embedded/extraction.py


KINDS: Mapping[str, ExtractionKind] = {  # `full`: types, descriptions and keywords; `triples`: names and triples only
    kind.name: kind
    for kind in (ExtractionKind("full", "extract", 6.8), ExtractionKind("triples", "extract_triples", 1.3))
}


@dataclass(frozen=True)
class GenerativeExtractor(Checked):
    """Extractor of the entities and relations of each chunk by a language model.

    `extraction`: "full", or "triples" for names and triples only (OpenIE), for about a third of the tokens.
    `gleanings`: extra passes over a chunk, to find what was missed; each costs as much as the first call. `threads`:
    concurrent calls. `provisional`: the extractor whose results are used until the model has read a chunk.
    `schema`: the types to find, which the prompt lists and the JSON schema of replies names; what does not fit is left
    out or untyped (`Schema.conform`). Triples have no types of entities, which get the nearest (`typed`). `prompts`: in
    an index those of its folder.

    >>> from graphwright.models.fake import ScriptedLLM
    >>> reply = '{"entities": [{"name": "Mur", "type": "river", "description": "A river."}], "relations": []}'
    >>> extractor = GenerativeExtractor(ScriptedLLM([reply]))
    >>> extraction, = extractor.extract([Excerpt("d1", "Graz", "It lies on the Mur.")])
    >>> [(m.name, m.type, m.start, m.end) for m in extraction.mentions]
    [('Graz', '', 0, 0), ('Mur', 'river', 15, 18)]
    """

    llm: LLM
    _: KW_ONLY
    extraction: Annotated[str, OneOf(*KINDS)] = "full"
    gleanings: Annotated[int, AtLeast(0)] = 0
    threads: Annotated[int, AtLeast(1)] = 8
    provisional: Extractor = field(default_factory=LexicalExtractor)
    prompts: Prompts = field(default=PROMPTS, repr=False)
    schema: Schema = field(default_factory=Schema)

    @property
    def id(self) -> str:
        """Name and version, the model's id, the number of gleanings, and checksums of the prompts and the schema."""
        name = "generative" if self.extraction == "full" else f"generative {self.extraction}"
        suffix, names = (f"+{self.gleanings} gleanings", ["extract_again"]) if self.gleanings else ("", [])
        names += ["extract_schema"] if self.schema else []
        checksum = self.prompts.checksum(self.kind.prompt, *names)
        return self.schema.marked(f"{name}:1:{self.llm.id}{suffix}:{checksum}")

    @property
    def kind(self) -> ExtractionKind:
        """The kind of extraction."""
        return KINDS[self.extraction]

    def derive(self, tasks: Sequence[Task], usage: Usage) -> list[str | ExtractionFailure]:
        """Return the value or the failure of each task, in order, and add the model's work to `usage`."""
        return MeteredCalls(self.llm, usage).for_each(_answer, tasks, self.threads)

    def extract(self, excerpts: Sequence[Excerpt], usage: Usage | None = None) -> list[Extraction | ExtractionFailure]:
        """Return an extraction or failure of each excerpt. The rest fail after the budget, or three failed calls."""
        return MeteredCalls(self.llm, usage or Usage()).for_each(self._extract_one, excerpts, self.threads)

    def _extract_one(self, excerpt: Excerpt, calls: MeteredCalls) -> Extraction | ExtractionFailure:
        replies = _Replies(excerpt)
        try:
            prompts = extraction_prompt(excerpt, self.kind, self.schema, self.prompts)
            replies.add(calls.complete(self.kind.prompt, *prompts, self._reply))
            for _ in range(self.gleanings):
                prompts = gleaning_prompt(excerpt, replies.extraction(), self.kind, self.schema, self.prompts)
                replies.add(calls.complete(self.kind.prompt, *prompts, self._reply))
        except ModelError as error:
            return calls.failure(error, _plain(str(error))[:_MAX_DESCRIPTION])
        extraction = replies.extraction()
        if not self.schema:
            return extraction
        if self.extraction == "triples":
            (extraction,) = typed([excerpt], [extraction], replace(self.schema, relations=()))
        return self.schema.conform(extraction, excerpt.title)

    @cached_property
    def _reply(self) -> type[Any] | None:
        """The model of replies that names the types of the schema; None for the prompt's own."""
        if not self.schema or self.extraction == "triples":
            return None
        from graphwright.prompts.replies import typed_reply

        none = () if self.schema.strict else ("",)
        types = [kind.name for kind in self.schema.entities]
        relations = [kind.name for kind in self.schema.relations] if self.schema.strict else []
        return typed_reply((*types, *none) if types else (), (*relations, ALSO_KNOWN_AS) if relations else ())


def extraction_prompt(
    excerpt: Excerpt, kind: ExtractionKind = KINDS["full"], schema: Schema = NO_SCHEMA, prompts: Prompts = PROMPTS
) -> tuple[str, str]:
    """Return the system and user message about a chunk; the last line is the chunk as JSON."""
    passage = data_line({"title": excerpt.title, "text": excerpt.text})
    rules, user = prompts.messages(kind.prompt, passage=passage)
    if not schema:
        return rules, user
    types = {name: "\n".join(map(data_line, schema.lines(name))) or "(any)" for name in ("entities", "relations")}
    otherwise = "Leave out" if schema.strict else "Describe in your own words"
    return prompts.messages("extract_schema", rules=rules, otherwise=otherwise, passage=passage, **types)


def gleaning_prompt(
    excerpt: Excerpt,
    extraction: Extraction,
    kind: ExtractionKind = KINDS["full"],
    schema: Schema = NO_SCHEMA,
    prompts: Prompts = PROMPTS,
) -> tuple[str, str]:
    """Return the messages of a gleaning: the rules of the first call, the chunk, and the results so far."""
    rules, _ = extraction_prompt(excerpt, kind, schema, prompts)
    passage = data_line({"title": excerpt.title, "text": excerpt.text})
    known = {"entities": [m.name for m in extraction.mentions], "relations": [r[:3] for r in extraction.relations]}
    return prompts.messages("extract_again", rules=rules, passage=passage, found=data_line(known))


class _Replies:
    """The replies about one chunk, merged: each entity and relation once, under the first name given to it."""

    def __init__(self, excerpt: Excerpt) -> None:
        self._excerpt = excerpt
        self._entities: dict[str, Mention] = {}  # by normal form
        self._relations: dict[tuple[str, str, str], Relation] = {}
        self._title = self._entity(excerpt.title)

    def add(self, reply: Any) -> None:
        """Add a reply, an instance of the schema."""
        for entity in reply.entities:
            self._entity(entity.name, entity.type, entity.description)
        for link in reply.relations:
            self._relation(link)

    def extraction(self) -> Extraction:
        """Return everything added, located in the text, the title first."""
        mentions = located(self._entities.values(), self._excerpt, self._title)
        relations = (r if r.text else r._replace(text=" ".join(r[:3])) for r in self._relations.values())
        return Extraction(mentions, tuple(relations))

    def _entity(self, name: str, kind: str = "", description: str = "") -> str:
        """Add an entity and return its name in this chunk, "" for a string that is not a name."""
        name = _plain(name)
        form = normal_form(name)
        if not form or len(name) > _MAX_NAME:
            return ""
        known = self._entities.get(form, Mention(name))
        self._entities[form] = known._replace(
            type=known.type or _plain(kind)[:_MAX_NAME], description=_joined(known.description, description)
        )
        return known.name

    def _relation(self, link: Any) -> None:
        head, tail = self._entity(link.source), self._entity(link.target)
        if not head or not tail or head == tail:
            return
        label = _plain(link.relation)[:_MAX_NAME] or "related to"
        key = head, label.casefold(), tail
        known = self._relations.get(key, Relation(head, label, tail, ""))
        keywords = dict.fromkeys([*known.keywords, *filter(None, map(_plain, link.keywords))])
        self._relations[key] = known._replace(
            text=_joined(known.text, link.description),
            keywords=tuple(keyword for keyword in keywords if len(keyword) <= _MAX_NAME)[:_MAX_KEYWORDS],
        )


def _plain(text: str) -> str:
    """Return a text on one line, without control characters and half surrogate pairs."""
    return " ".join(_CONTROL.sub(" ", text).split())


def _joined(first: str, second: str) -> str:
    """Return both texts; the second is left out if the first contains it."""
    second = _plain(second)
    return first if second in first else f"{first} {second}".strip()[:_MAX_DESCRIPTION].rstrip()


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls, tokens, hours and cost of an extraction.

    `schema_tokens`: tokens of each prompt that list the types of a schema.
    `hours`: None if no rate was given. `cost`: in the currency of the prices, None if none were given.
    """

    chunks: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    hours: float | None = None
    cost: float | None = None
    schema_tokens: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


def estimate(
    excerpts: Iterable[Excerpt],
    *,
    extraction: str = "full",
    gleanings: int = 0,
    prices: Prices | None = None,
    rate: Rate | None = None,
    prompts: Prompts = PROMPTS,
    schema: Schema = NO_SCHEMA,
) -> Estimate:
    """Estimate the calls, tokens, hours and cost of GenerativeExtractor for these chunks, without a call.

    Tokens of prompts are estimated by their characters, those of replies by `ExtractionKind.reply_ratio`. Each gleaning
    has all replies before it in its prompt. Corrected replies are not included, cached ones not subtracted.

    >>> estimated = estimate([Excerpt("d1", "Graz", "It lies on the Mur.")], gleanings=1)
    >>> estimated.chunks, estimated.calls, estimated.completion_tokens, estimated.cost
    (1, 2, 68, None)
    """
    kind, count = KINDS[extraction], lru_cache(maxsize=8)(estimated_tokens)  # the rules are the same for every chunk
    chunks = prompt = completion = 0
    for excerpt in excerpts:
        reply = ceil(kind.reply_ratio * count(excerpt.text))
        prompt += sum(map(count, extraction_prompt(excerpt, kind, schema, prompts)))
        if gleanings:
            prompt += gleanings * sum(map(count, gleaning_prompt(excerpt, Extraction(), kind, schema, prompts)))
            prompt += reply * gleanings * (gleanings + 1) // 2
        completion += (1 + gleanings) * reply
        chunks += 1
    hours = None if rate is None else rate.hours(prompt, completion)
    cost = None if prices is None else prices.cost(prompt, completion)
    rules = [extraction_prompt(Excerpt("", "", ""), kind, given)[0] for given in (schema, NO_SCHEMA)]
    added = estimated_tokens(rules[0]) - estimated_tokens(rules[1])
    return Estimate(chunks, (1 + gleanings) * chunks, prompt, completion, hours, cost, added)
