"""Citations: verification of quotes against passages, character spans, and the steps that led to each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from graphwright.data.document import file_of
from graphwright.data.records.record import CLAUSE, DOCUMENT, MAIL, MESSAGE
from graphwright.graph.columns import Passages
from graphwright.graph.graph import Graph
from graphwright.graph.records import RecordColumns
from graphwright.graph.walks import step_names
from graphwright.models.protocols import PassageText
from graphwright.operators.select import cite, location_of, words_of
from graphwright.operators.state import Citation, State
from graphwright.search.versions import versions_of
from graphwright.text.dates import day_in_words
from graphwright.text.sentences import sentence_spans
from graphwright.text.values import value_of, values_in
from graphwright.text.words import words

_MIN_LENGTH = 3  # characters of a quote
_MIN_CLOSE = 12  # characters of a quote that may have a typing error: a shorter one matches too many texts
_MIN_COPIED = 24  # characters of words that two documents share not by chance
_RECIPIENTS = 4  # of a mail that a reader reads
_FIELDS, _MAX_FIELD = 8, 60  # of a row that a reader reads before its text, and characters of one
_DESCRIBED = frozenset({CLAUSE, DOCUMENT, MAIL, MESSAGE})  # types of records that are no rows
_INTRODUCED = frozenset({"from", "date"})  # fields of a quoted mail that a sentence above it says
_MIN_SLIP = 5  # letters of a word that may be misspelt

_TYPED = {  # characters that vary when a text is typed again; the last are invisible
    **dict.fromkeys(
        '\u2018\u2019\u201a\u201b\u2039\u203a\u00b4`\u2032"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033', "'"
    ),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
}
# A change in a number or a negation changes the statement, so it is never a slip.
_DECISIVE = re.compile(r"\d|^(?:no|not|never|none|nor|neither|cannot|without)$|n't$")
# Scripts without spaces between words, or with endings attached: a letter may be a word there.
_RUN_ON = "[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3040-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
_AROUND = ".,;:!?'()[]{}*_"  # punctuation before and after words
_MARKER = re.compile(r"\[\s*(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\s*\]")
_MARKERS = re.compile(rf"(\s*)({_MARKER.pattern}(?:\s*{_MARKER.pattern})*)")  # in a row, on one statement
_UNSUPPORTED = "[unsupported]"
# The line end before markers on a line of their own.
_LONE = re.compile(r"(?<=\S)\s*\n\s*(?=(?:\[(?:\d[\d, ]*|unsupported)\][ .]*)+(?:\n|$))")
_NO_STATEMENT = re.compile(r"^#|[:：?？؟]\W*$")
_RULE = re.compile(r"\s*\n[ \t|:]*-[-|: \t]*(?:\n|$)")  # below the names of a table's columns, or a heading
_ANY_MARK = re.compile(rf"\s*(?:{_MARKER.pattern}|{re.escape(_UNSUPPORTED)})")

Span = tuple[int, int]


class Place(NamedTuple):
    """Characters `start` to `end` of the text of passage number `passage`."""

    passage: int
    start: int
    end: int


def locate(quote: str, passage: int, texts: Mapping[int, str]) -> Place | None:
    """Return the place of a quote: in passage number `passage`, else in the first other of `texts` that matches best.

    Three comparisons are tried in turn: exact; apart from white space, kinds of quotation marks and dashes, case, and
    encoding of letters; and, for quotes of 12 characters or more, word by word apart from punctuation and one slip: a
    letter missing, added or wrong, or two swapped, but not the first, in a word of 5 letters or more that is no number,
    no negation, and no other word of the text. A quote has whole words, 3 characters or more, and not stop words only.

    >>> locate("Graz is here", 1, {1: "Lyon is there.", 2: "Graz is here."})
    Place(passage=2, start=0, end=12)
    >>> locate("where he maried her", 1, {1: "That is where he married her, in 1855."})
    Place(passage=1, start=8, end=28)
    """
    quote = quote.strip()
    if not words(quote):
        return None
    cited = [passage] if passage in texts else []
    for numbers in (cited, [number for number in texts if number != passage]):
        for find_span, number in product(_COMPARISONS, numbers):
            if (span := find_span(quote, texts[number])) is not None:
                return Place(number, *span)
    return None


def supported(answer: str, numbers: Sequence[int | None]) -> tuple[str, tuple[str, ...]]:
    """Return the answer with its markers renumbered, and the sentences that rest on no verified quote.

    [i] becomes [numbers[i - 1]], and is dropped if that is None or missing. Where all markers on a statement are
    dropped, its sentence is marked [unsupported], once. A sentence without a marker has no quote either, unless it is
    all of the answer; questions, headings, column names and what introduces the next line (":") state nothing.

    >>> supported("It burned [1, 3]. It was rebuilt [2][9]. It stands.", [1, None, 2])
    ('It burned [1, 2]. It was rebuilt [unsupported]. It stands.', ('It was rebuilt', 'It stands.'))
    >>> supported("| Town | River |\\n|---|---|\\n| Graz | Mur [1] |\\n| Linz | Enns |", [1])[1]
    ('| Linz | Enns |',)
    """
    plain = _ANY_MARK.sub(lambda mark: " " * len(mark[0]), answer)
    spans = [span for span in sentence_spans(plain) if words(plain[slice(*span)])]
    bare = dict(spans) if len(spans) > 1 or not any(numbers) else {}
    sentences: dict[int, str] = {}  # by their start

    def replacement(markers: re.Match[str]) -> str:
        bare.pop(max((at for at, _ in spans if at < markers.start()), default=next(iter(bare), -1)), None)
        verified = _MARKER.sub(lambda marker: _renumbered(marker[1], numbers), markers[2])
        if verified.strip():
            return markers[1] + verified.strip()
        before = answer[: markers.start()]
        start, end = (sentence_spans(before) or [(0, 0)])[-1]
        if start in sentences:
            return ""
        sentences[start] = without_markers(before[start:end])
        return f"{markers[1] or ' '}{_UNSUPPORTED}"

    marked = _LONE.sub(" ", _MARKERS.sub(replacement, answer)).strip()
    stating = {at: end for at, end in bare.items() if not _RULE.match(plain, end)}
    sentences |= {at: plain[at:end] for at, end in stating.items() if not _NO_STATEMENT.search(plain[at:end])}
    return marked, tuple(text for _, text in sorted(sentences.items()))


def _renumbered(marker: str, numbers: Sequence[int | None]) -> str:
    old = (int(number) for number in re.findall(r"\d+", marker))
    new = (numbers[number - 1] for number in old if 0 < number <= len(numbers))
    shown = dict.fromkeys(number for number in new if number is not None)
    return f"[{', '.join(map(str, shown))}]" if shown else ""


def without_markers(text: str) -> str:
    """Return a text without the markers of its citations and of unsupported sentences.

    >>> without_markers("It burned [1, 2]. It was rebuilt [unsupported].")
    'It burned. It was rebuilt.'
    """
    return _ANY_MARK.sub("", text).strip()


def _exact(quote: str, text: str) -> Span | None:
    if len(quote) < _MIN_LENGTH:
        return None
    start = _start(quote, text)
    return None if start < 0 else (start, start + len(quote))


def _retyped(quote: str, text: str) -> Span | None:
    folded_quote, (folded, origin) = _folded(quote)[0].strip(), _folded(text)
    # The second form lacks the quotation marks or dots around the quote.
    for form in (folded_quote, folded_quote.strip(" '.")):
        if len(form) >= _MIN_LENGTH and (start := _start(form, folded)) >= 0:
            return origin[start], origin[start + len(form) - 1] + 1
    return None


def _close(quote: str, text: str) -> Span | None:
    folded_quote, (folded, origin) = _folded(quote)[0].strip(), _folded(text)
    if len(folded_quote) < _MIN_CLOSE:
        return None
    quote_words, text_words = [word for word, _, _ in _split(folded_quote)], _split(folded)
    vocabulary = {word for word, _, _ in text_words}
    for first in range(len(text_words) - len(quote_words) + 1):
        window = text_words[first : first + len(quote_words)]
        slips = [(a, b) for a, (b, _, _) in zip(quote_words, window, strict=True) if a != b][:2]
        if not slips or (len(slips) == 1 and slips[0][0] not in vocabulary and _is_slip(*slips[0])):
            return origin[window[0][1]], origin[window[-1][2] - 1] + 1
    return None


_COMPARISONS = (_exact, _retyped, _close)


@lru_cache(maxsize=64)
def _split(text: str) -> list[tuple[str, int, int]]:
    """Return the words of a text, without the punctuation around them, and their spans."""
    spans = []
    for match in re.finditer(r"\S+", text):
        start = match.end() - len(match[0].lstrip(_AROUND))
        if word := match[0].strip(_AROUND):
            spans.append((word, start, start + len(word)))
    return spans


def _is_slip(a: str, b: str) -> bool:
    """Return whether two words differ by one slip: see `locate`."""
    from rapidfuzz.distance import OSA

    if any(len(w) < _MIN_SLIP or _DECISIVE.search(w) or re.search(_RUN_ON, w) or not words(w) for w in (a, b)):
        return False
    return a[0] == b[0] and OSA.distance(a, b) == 1


def _start(part: str, text: str) -> int:
    """Return the start of the first occurrence that begins and ends at word boundaries, else -1."""
    at = text.find(part)
    while at >= 0 and (_inside_word(text, at) or _inside_word(text, at + len(part))):
        at = text.find(part, at + 1)
    return at


def _inside_word(text: str, at: int) -> bool:
    """Return whether the characters on both sides of a position belong to one word or number."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if unicodedata.combining(after):
        return not before.isspace()
    if before in ".,":
        return after.isdigit() and text[at - 2 : at - 1].isdigit()
    if after in ".,":
        return before.isdigit() and text[at + 1 : at + 2].isdigit()
    wordy = (before.isalnum() or unicodedata.combining(before)) and after.isalnum()
    return bool(wordy) and not (re.match(_RUN_ON, before) or re.match(_RUN_ON, after))


@lru_cache(maxsize=64)
def _folded(text: str) -> tuple[str, list[int]]:
    """Return the text with typing differences removed, and for each of its characters the position it comes from."""
    folded: list[str] = []
    origin: list[int] = []
    for at, character in enumerate(text):
        if character.isspace():
            plain = "" if folded and folded[-1] == " " else " "
        else:
            plain = unicodedata.normalize("NFKD", _TYPED.get(character, character)).casefold()
        folded += plain
        origin += [at] * len(plain)
    return "".join(folded), origin


def passage_text(graph: Graph, node: int, recipients: bool = True) -> PassageText:
    """Return the title of a passage's document, on one line, and the text of the passage, with its lines of fields.

    Of a version, a reader reads the date after the title, as questions name it, unless the text says it: "Statutes
    (14 March 2018)"; of a row whose text is one of its fields, the others: "camp; sender: Bo". `recipients`: whether
    the opening of a mail has its recipients.
    """
    row = -1 if graph.passages is None else graph.passages.row(node)
    title, text = " ".join(graph.title_of(node).split()), graph.passage(node)
    if graph.passages is None or row < 0:
        return PassageText(title, text)
    passage = PassageText(title, text, graph.passages.cuts_of(row))
    if graph.columns.records:
        passage = _with_fields(passage, graph.columns.records, graph.passages, row, recipients)
    document, versions = graph.passages.documents[graph.passages.document[row]], versions_of(graph.columns)
    if passage.opening:
        return passage
    dated = versions.dated.get(document) if document in versions.of else None
    is_said = dated is not None and any(found.value == value_of(dated.date) for found in values_in(text))
    day = f" ({day_in_words(dated.date)})" if dated and not is_said else ""
    fields = "".join(f"; {field}" for field in _unsaid(graph, document, title))
    return replace(passage, opening=f"{title}{day}{fields}".removeprefix("; ")) if day or fields else passage


def _unsaid(graph: Graph, document: str, title: str) -> list[str]:
    """Return the short fields of the row that a document is, as "sender: Bo", which its text and title do not say.

    Its id and addresses are left out.
    """
    passages, records = graph.passages, graph.columns.records
    if passages is None or records is None:
        return []
    found = records.unsaid(passages.nodes[passages.rows_of_document.get(document, [])])
    known = {title, document.rpartition("#")[2]}
    fields = ((name, day_in_words(text)) for kind, name, text in found if kind not in _DESCRIBED and text not in known)
    return [f"{name}: {text}" for name, text in fields if len(text) <= _MAX_FIELD and "://" not in text][:_FIELDS]


def _with_fields(
    passage: PassageText, records: RecordColumns, passages: Passages, row: int, recipients: bool
) -> PassageText:
    """Return a passage with its lines of fields, the headings of its clauses, and the labels of both."""
    text, cuts = passage.text, set(passage.cuts)
    rows, headers, headings, labels = [dict[int, int]() for _ in range(4)]
    before = [row - 1] if row and passages.document[row - 1] == passages.document[row] else []
    for kind, name, *span in records.fields_of(passages.nodes[[*before, row]]):
        start, end = (at - int(passages.start[row]) for at in span)
        if not 0 <= start < end <= len(text):
            continue
        if kind == MAIL and name == "text":  # a sentence is of one writer, also where answers stand between quotations
            cuts |= {start, end}
        label = f"{name.capitalize() if kind == MAIL else name}: "
        if kind == CLAUSE and name == "number":
            labels[start] = end
            cuts.add(start)
        elif kind == CLAUSE and name == "title":
            headings[max(labels, default=start)] = end
        elif kind != CLAUSE and text[max(start - len(label), 0) : start].endswith((label, " | ")):
            if text.endswith(label, 0, start):
                labels[start - len(label)] = start
            first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
            lines = headers if kind == MAIL else rows
            lines[first] = max(len(text) if last < 0 else last, lines.get(first, 0))
        elif kind == MAIL and name in _INTRODUCED:  # "On 2 May, Bo wrote:", a paragraph above what is quoted
            first, last = text.rfind("\n\n", 0, start), text.find("\n\n", end)
            first = first + 2 if first >= 0 else 0
            if passages.start[row] + first:  # not the headers of the mail itself
                headers[first] = len(text) if last < 0 else last
    spans = [tuple(sorted(each.items())) for each in (rows, headers, headings, labels)]
    author, to, date = _mail(records, passages, row, int(passages.start[row]))
    about = ", ".join((*filter(None, (day_in_words(date),)), *([f"to {to}"] if to and recipients else ())))
    opening = f"{passage.title}{f' ({about})' if about else ''}. {author} wrote" if author else ""
    fields = dict(zip(("rows", "headers", "headings", "labels"), spans, strict=True))
    return PassageText(passage.title, text, tuple(sorted(cuts - {0, len(text)})), **fields, opening=opening)


def _mail(records: RecordColumns, passages: Passages, row: int, at: int) -> tuple[str, str, str]:
    """Return author, recipients and date of the mail, or quotation, at a character of the document of a passage."""
    mail = records.fields_at(MAIL, passages.nodes[passages.document == passages.document[row]], at)
    to = mail.get("to", [])
    more = " and others" if len(to) > _RECIPIENTS else ""
    return mail.get("from", [""])[0], ", ".join(to[:_RECIPIENTS]) + more, mail.get("date", [""])[0]


def written_by(graph: Graph, node: int, at: int) -> str:
    """Return author and date of the mail, or quotation, at a character of a passage's document; "" for no mail."""
    passages, records = graph.passages, graph.columns.records
    row = -1 if passages is None else passages.row(node)
    if passages is None or records is None or row < 0:
        return ""
    author, _, date = _mail(records, passages, row, at)
    return ", ".join(filter(None, (author, date)))


def citation(state: State, node: int, start: int, end: int) -> Citation:
    """Return characters `start` to `end` of a passage's text as a citation, with the steps that the passage carries.

    On a graph without passages it has the name of the node as its chunk, no document, and offsets in the node's text.
    """
    path = () if state.passages is None else step_names(state.graph, state.passages.steps(node))
    return cite(state.graph, node, start, end, path)


def numbered(state: State, spans: Iterable[tuple[int, int, int]]) -> tuple[tuple[Citation, ...], list[int]]:
    """Return the citations of spans (node, start, end) of passages, and for each span the number of its citation.

    Spans that overlap, as in passages that share text, have one citation together, and so have texts of copies. Numbers
    begin with 1.
    """
    citations: dict[int, Citation] = {}
    members: list[int] = []
    for at, (node, start, end) in enumerate(spans):
        cited = citation(state, node, start, end)
        same = [number for number, other in citations.items() if overlap(cited, other)]
        for number in reversed(same):
            cited = _joined(state, citations.pop(number), cited)
        copied = next((number for number, other in citations.items() if _is_copy(cited, other)), None)
        if copied is not None:
            same.append(copied)
            cited = _with_copy(citations.pop(copied), cited)
        first = min(same, default=at)
        citations[first] = cited
        members = [first if member in same else member for member in members] + [first]
    order = sorted(citations)
    numbers = {member: number for number, member in enumerate(order, 1)}
    return tuple(citations[member] for member in order), [numbers[member] for member in members]


def overlap(cited: Citation, other: Citation) -> bool:
    """Return whether two citations share characters of a document, or of a node without one."""
    same = cited.document == other.document and bool(cited.document or cited.chunk == other.chunk)
    return same and cited.start < other.end and other.start < cited.end


def _is_copy(cited: Citation, other: Citation) -> bool:
    """Return whether another citation, of another file, shows the text of one."""
    own, shown = words_of(cited.text), words_of(other.text)
    files = [file_of(citation.document) for citation in (cited, other)]
    equal = own == shown and len(own) >= _MIN_COPIED and all(files) and files[0] != files[1]
    return equal or (cited.document in other.also_in and own in shown)


def _with_copy(cited: Citation, copy: Citation) -> Citation:
    """Return a citation that also names the documents of a copy, where they have all of its text."""
    if words_of(cited.text) != words_of(copy.text):
        return cited
    documents = dict.fromkeys((*cited.also_in, copy.document, *copy.also_in))
    return replace(cited, also_in=tuple(document for document in documents if document != cited.document))


def _joined(state: State, cited: Citation, other: Citation) -> Citation:
    """Return a citation of the characters of two that overlap, with the path of the first."""
    first, last = sorted((cited, other), key=lambda citation: citation.start)
    start, end = first.start, max(cited.end, other.end)
    text = first.text + last.text[first.end - last.start :]
    location = location_of(state.graph, state.graph.id(cited.chunk), start, end) if cited.document else ""
    return replace(cited, start=start, end=end, text=text, location=location)


def passage_starts(graph: Graph, nodes: Sequence[int]) -> list[tuple[str, int]]:
    """Return the document of each passage, and the character where it begins; other nodes count as documents."""
    passages = [None if graph.passages is None else graph.passages.of(node) for node in nodes]
    return [(f"node {n}", 0) if p is None else (p.document, p.start) for n, p in zip(nodes, passages, strict=True)]
