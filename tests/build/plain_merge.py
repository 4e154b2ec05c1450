"""The merge of contributions as one would write it down: dictionaries, one chunk after the other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from graphwright.extract.extraction import Extraction, Relation
from graphwright.store.chunk_record import topic_of
from graphwright.text.names import aliases_of, name_words, normal_form
from graphwright.text.words import words

Doc = tuple[str, str, str, Extraction]  # id, title, text, contribution
OWN = ("about", "mentions", "alias", "synonym")


def form_of(name: str) -> str:
    form = normal_form(clean(name))
    return form if 2 <= len(form) <= 200 else ""


def clean(text: str) -> str:
    return text.replace("\0", "\ufffd")


def most_frequent(counts: Counter[str], form: str) -> str:
    return min(counts, key=lambda name: (-counts[name], name.encode()), default=form)


def message(relation: Relation) -> str:
    words = [clean(word).replace(",", ";") for word in relation.keywords if word]
    return clean(relation.text) + (f" ({', '.join(words)})" if words else "")


def claims(docs: Sequence[Doc]) -> dict[str, list[str]]:
    """The shorter forms of topics, each with the forms of the topics that it may mean."""
    result: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for _, title, _, made in docs:
        topic = clean(topic_of(title, [m.name for m in made.mentions]))
        if topic and form_of(topic):
            for alias in aliases_of(topic):
                if 2 <= len(alias) <= 200:
                    result[alias][form_of(topic)] = None
    return {alias: list(meant) for alias, meant in result.items() if len(meant) <= 5}


def found_in(folded: list[str], sought: set[str]) -> list[str]:
    spans = [(start, end) for start in range(len(folded)) for end in range(start + 1, len(folded) + 1)]
    return [form for start, end in spans if (form := " ".join(folded[start:end])) in sought]


def plain_merge(docs: Sequence[Doc], links: Mapping[str, Sequence[str]]) -> tuple[object, ...]:  # noqa: C901
    """Names; triples, texts and chunks of edges; chunks of nodes; the lexicon."""
    entity: dict[str, int] = {}
    surfaces: defaultdict[str, Counter[str]] = defaultdict(Counter)
    named: list[dict[str, None]] = []
    topics: list[str] = []
    stated: list[tuple[str, str, str, str, int]] = []

    def see(name: str, count: int, here: dict[str, None]) -> None:
        form = form_of(name)
        if form:
            entity.setdefault(form, len(entity))
            surfaces[form][clean(name)] += count
            here[form] = None

    for at, (_, title, _, made) in enumerate(docs):
        here: dict[str, None] = {}
        mentioned = [m.name for m in made.mentions]
        topic = topic_of(title, mentioned)
        if topic:
            see(topic, topic not in mentioned, here)
        for name in mentioned:
            see(name, 1, here)
        for r in made.relations:
            head, tail = form_of(r.head), form_of(r.tail)
            if head and tail and head != tail:
                see(r.head, 0, here)
                see(r.tail, 0, here)
                stated.append(
                    (head, f"{r.relation} (stated)" if r.relation in OWN else r.relation, tail, message(r), at)
                )
        named.append(here)
        topics.append(form_of(topic))
    aliases = claims(docs)
    for alias in aliases:
        entity.setdefault(alias, len(entity))
    sought = {form for form in {*filter(None, topics), *aliases} if " " in form and words(form)}
    for here, (_, _, text, _) in zip(named, docs, strict=True):
        here |= dict.fromkeys(found_in(name_words(text), sought))
    p = len(docs)
    entity = {form: number for number, form in enumerate(sorted(entity, key=str.encode))}
    name_of = {form: most_frequent(surfaces[form], form) for form in entity}
    names = [*(f"{doc[0]}#0" for doc in docs), *(name_of[form] for form in entity)]
    edges = [
        (names[at], "about" if form == topics[at] else "mentions", name_of[form], None, [at])
        for at, here in enumerate(named)
        for form in here
    ]
    edges += [(name_of[head], label, name_of[tail], text, [at]) for head, label, tail, text, at in stated]
    for alias, meant in sorted(aliases.items(), key=lambda item: entity[item[0]]):
        edges += [(name_of[alias], "alias", name_of[form], None, []) for form in sorted(meant, key=entity.__getitem__)]
    place = {doc[0]: at for at, doc in enumerate(docs)}
    for name, at in place.items():
        for other in sorted({place[link] for link in links.get(name, ()) if link in place and link != name}):
            edges.append((names[at], "refers to", names[other], None, [at]))
    lexicon = {(form, p + number) for form, number in entity.items()}
    lexicon |= {(alias, p + entity[form]) for alias, meant in aliases.items() for form in meant}
    return (
        names,
        [edge[:3] for edge in edges],
        [" ".join(edge[:3]) if edge[3] is None else edge[3] for edge in edges],
        [[at] for at in range(p)] + [[at for at, here in enumerate(named) if form in here] for form in entity],
        [edge[4] for edge in edges],
        sorted(lexicon, key=lambda pair: (pair[0].encode(), pair[1])),
    )
