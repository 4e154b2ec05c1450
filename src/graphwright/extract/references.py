"""References between documents (FastInsight, section 4.2.1): detected in their texts, by a language model or by rules.

A language model lists the works that each part of a document cites, as written; rules look at the whole text. Either
way a citation is matched with the documents at hand: by an identifier, by a title, or by author and year.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import ceil

from graphwright.data.document import Document
from graphwright.errors import LLMResponseError
from graphwright.extract.llm import Estimate, MeteredCalls
from graphwright.models.budget import Prices, Rate, estimated_tokens
from graphwright.models.protocols import LLM, Usage
from graphwright.prompts.templates import PROMPTS, Prompts, data_line

_PART = 4096  # characters of a document that a model reads at a time, the paper's node
_REPLY = 0.15  # tokens of a reply per token of a part; not measured
_TITLE_WORDS = 3  # minimum words of a title that texts are searched for
_FIRST_WORDS = 4  # minimum words of a shortened title
_SPELLING = 90  # minimum similarity of a title that is spelled differently, in percent
_IDENTIFIER = re.compile(r"[\w./:()+-]*\d[\w./:()+-]*")  # has a digit
_MIN_IDENTIFIER = 5
_AUTHOR_YEAR = re.compile(
    r"([^\W\d_][\w'’-]+)(?: et al\.?|(?:,| and| &|, and) [^\W\d_][\w'’-]+)*,? ?[(\[]?((?:1[89]|20)\d\d)[a-z]?\b"
)
_KEYS = {"identifier": ("doi", "arxiv", "url", "identifier"), "author": ("authors", "author"), "year": ("year", "date")}
_WORD = re.compile(r"\w+")
_LINE_END = re.compile(r"(?<=\w)-\n\s*(?=\w)")


class CitedDocuments:
    """Documents of a collection by their citation keys; `cited_in` finds the ones that a text cites.

    An identifier is a document's id, or its metadata `doi`, `arxiv`, `url` or `identifier`, of five characters or more
    with a digit; a title has three words or more; author and year, the first surname of metadata `authors` and `year`,
    count where only one document has them.

    >>> data = {"authors": "Stenetorp", "year": "2012"}
    >>> brat = Document("E12-2021", "...", "BRAT: a web-based annotation tool", data)
    >>> cited = CitedDocuments([brat])
    >>> [cited.cited_in(text) for text in ("See E12-2021.", "brat, a Web-based annotation tool", "(Stenetorp, 2012)")]
    [{'E12-2021'}, {'E12-2021'}, {'E12-2021'}]
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self._by_identifier: dict[str, set[str]] = {}
        self._by_title: dict[tuple[str, ...], set[str]] = {}
        self._by_author: dict[tuple[str, str], set[str]] = {}
        for document in documents:
            for identifier in (document.id, *_values(document, "identifier")):
                if len(identifier) >= _MIN_IDENTIFIER and _IDENTIFIER.fullmatch(identifier):
                    self._by_identifier.setdefault(identifier.casefold(), set()).add(document.id)
            title = _words(document.title)
            if len(title) >= _TITLE_WORDS:
                self._by_title.setdefault(title, set()).add(document.id)
            surname = _surname(next(iter(_values(document, "author")), ""))
            for year in re.findall(r"\d{4}", " ".join(_values(document, "year")))[:1] if surname else ():
                self._by_author.setdefault((surname, year), set()).add(document.id)
        self._starts: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        self._by_ends: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for title in self._by_title:
            self._starts.setdefault(title[:_TITLE_WORDS], []).append(title)
            for ends in {title[:2], title[-2:]}:
                self._by_ends.setdefault(ends, []).append(title)

    def cited_in(self, text: str) -> set[str]:
        """Return the ids of the documents that a text cites."""
        cited = set[str]()
        for match in _IDENTIFIER.finditer(text):
            form = match[0].casefold()
            for own in (form, form.rstrip(".:)"), form.strip("().:"), form.rpartition(":")[2].rstrip(".)")):
                cited |= self._by_identifier.get(own, set())
        for form in {text, _LINE_END.sub("", text)}:  # a hyphen at the end of a line may divide a word
            cited |= self._titled(_words(form))
        for surname, year in _AUTHOR_YEAR.findall(text):
            works = self._by_author.get((surname.casefold(), year), set())
            cited |= works if len(works) == 1 else set()
        return cited

    def _titled(self, tokens: tuple[str, ...]) -> set[str]:
        titled = set[str]()
        for at in range(len(tokens) - _TITLE_WORDS + 1):
            for title in self._starts.get(tokens[at : at + _TITLE_WORDS], ()):
                if tokens[at : at + len(title)] == title:
                    titled |= self._by_title[title]
        return titled

    def cited_by(self, reference: str) -> set[str]:
        """Return the ids of the documents that a text means which is known to be one reference.

        So a title may also be spelled a little differently, with the same first or last two words, or be cut after four
        words or more where one title alone begins with them.
        """
        return self.cited_in(reference) or self._alike(_words(_LINE_END.sub("", reference)))

    def _alike(self, tokens: tuple[str, ...]) -> set[str]:
        """Return the ids of the documents whose title is spelled like a reference, or alone begins with it."""
        from rapidfuzz.fuzz import ratio

        near = {title for ends in (tokens[:2], tokens[-2:]) for title in self._by_ends.get(ends, ())}
        starting = [title for title in near if len(tokens) >= _FIRST_WORDS and title[: len(tokens)] == tokens]
        if len(starting) == 1:
            return self._by_title[starting[0]]
        text = " ".join(tokens)
        likeness = {title: ratio(" ".join(title), text, score_cutoff=_SPELLING) for title in near}
        best = max(likeness, key=lambda title: (likeness[title], title), default=())
        return self._by_title[best] if likeness.get(best) else set()


def _values(document: Document, kind: str) -> list[str]:
    return [document.metadata[key] for key in _KEYS[kind] if document.metadata.get(key)]


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def _surname(authors: str) -> str:
    """Return the surname of the first author: the word before a comma, else the last word of the first name."""
    first = re.split(r";| and |&", authors)[0].strip()
    before, comma, _ = first.partition(",")
    name = before if comma and len(before.split()) == 1 else (before.split() or [""])[-1]
    return name.casefold()


def with_references(
    documents: Iterable[Document],
    llm: LLM | None = None,
    *,
    threads: int = 8,
    usage: Usage | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    prompts: Prompts = PROMPTS,
) -> list[Document]:
    """Return the documents with `links` to those that their texts cite, beside the links that they have.

    Index.add makes an edge "refers to" of each link, from every passage of the document to the first passage of the
    cited document. `llm` reads 4,096 characters at a time (prompt `references`), in `threads`; a part without a usable
    reply is read by the rules. Raises ModelError where the model gives no reply, and once a budget is exhausted.
    `progress`: called with the work, and the parts read and all. `prompts`: those of the index.

    >>> a = Document("a-2001", "We extend the work of b-1999."); b = Document("b-1999", "The first work.")
    >>> [document.links for document in with_references([a, b])]
    [('b-1999',), ()]
    """
    listed = list(documents)
    cited = CitedDocuments(listed)
    targets = {document.id: set(document.links) for document in listed}
    if llm is None:
        for document in listed:
            targets[document.id] |= cited.cited_in(document.text)
    else:
        parts = [(document.id, part) for document in listed for part in _parts(document.text)]
        calls = MeteredCalls(llm, Usage() if usage is None else usage)
        show = None if progress is None else lambda ended: progress("find references", ended, len(parts))
        listed_by_part = calls.for_each(partial(_citations, prompts), [part for _, part in parts], threads, show)
        for (name, _), references in zip(parts, listed_by_part, strict=True):
            targets[name].update(*map(cited.cited_by, references))
    return [replace(document, links=tuple(sorted(targets[document.id] - {document.id}))) for document in listed]


def _parts(text: str) -> Iterator[str]:
    """Yield a text in parts of at most 4,096 characters, cut between words."""
    while len(text) > _PART:
        end = text.rfind(" ", 1, _PART)
        end = _PART if end < 0 else end
        yield text[:end]
        text = text[end:].lstrip()
    if text.strip():
        yield text


def _prompt(part: str, prompts: Prompts = PROMPTS) -> tuple[str, str]:
    return prompts.messages("references", passage=data_line({"text": part}))


def _citations(prompts: Prompts, part: str, calls: MeteredCalls) -> Sequence[str]:
    """Return the citations of a part as the model lists them; the part itself without a usable reply."""
    try:
        references: Sequence[str] = calls.complete("references", *_prompt(part, prompts)).references
    except LLMResponseError:
        return [part]
    return references


def estimate_references(
    documents: Iterable[Document], *, prices: Prices | None = None, rate: Rate | None = None
) -> Estimate:
    """Estimate the calls, tokens, hours and cost of `with_references` by a language model, without a call.

    >>> estimate_references([Document("a", "It lies on the Mur. " * 300)]).calls
    2
    """
    parts = [part for document in documents for part in _parts(document.text)]
    prompt = sum(estimated_tokens(text) for part in parts for text in _prompt(part))
    reply = sum(ceil(_REPLY * estimated_tokens(part)) for part in parts)
    hours = None if rate is None else rate.hours(prompt, reply)
    cost = None if prices is None else prices.cost(prompt, reply)
    return Estimate(len(parts), len(parts), prompt, reply, hours, cost)
