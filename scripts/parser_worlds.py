"""Training questions with programs over made worlds: relations and phrasings from `parser/worlds.txt`, things made."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graphwright import Graph
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.query import (
    Both,
    Compare,
    Comparison,
    Count,
    Either,
    Except,
    Exists,
    Extreme,
    Follow,
    Has,
    Named,
    OfType,
    Query,
    Step,
    Things,
    Where,
)  # fmt: skip
from graphwright.search.facts import Facts

FILE = Path(__file__).parent / "parser" / "worlds.txt"
_SYLLABLES = [
    "ka",
    "ro",
    "mi",
    "sel",
    "dan",
    "ber",
    "tu",
    "lin",
    "vor",
    "pe",
    "gra",
    "nol",
    "hes",
    "ti",
    "mar",
    "quin",
    "os",
    "fel",
    "ba",
    "dur",
    "en",
    "ila",
    "cor",
    "wes",
    "pha",
    "jo",
    "zy",
]
_ADJECTIVES = [
    "silent",
    "golden",
    "northern",
    "broken",
    "hidden",
    "red",
    "early",
    "distant",
    "bright",
    "lesser",
    "iron",
    "frozen",
    "quiet",
    "green",
    "old",
]
_NOUNS = [
    "harbour",
    "orchard",
    "mirror",
    "lantern",
    "winter",
    "garden",
    "signal",
    "meadow",
    "crown",
    "arrow",
    "bell",
    "valley",
    "compass",
    "shore",
]
_VALUES = [
    "blue",
    "amber",
    "oral",
    "draft",
    "closed",
    "stable",
    "German",
    "Polish",
    "Basque",
    "square",
    "drama",
    "essay",
    "oak",
    "bronze",
    "active",
    "rare",
    "high",
    "low",
    "Alto",
    "north",
    "tablet",
    "fugue",
    "retired",
    "open",
    "krona",
    "dinar",
    "male",
    "female",
    "Baroque",
    "4",
    "7",
    "12",
    "A1",
    "www.example.org",
    "info@example.org",
]
_TYPE_NAMES = ("instance of", "type", "is a", "class", "rdf:type", "kind")


class Relation(NamedTuple):
    """A relation between types with its names and phrasings; `kind` is R (to things), V (to values) or N (to words)."""

    kind: str
    subject: str
    object: str
    names: list[str]
    nouns: list[str]
    forward: list[str]
    backward: list[str]
    asks: str


@dataclass
class Domain:
    """The types of a domain with their plurals, and its relations."""

    name: str
    plural: dict[str, str] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)


def domains(file: Path = FILE) -> list[Domain]:
    """Read the domains."""
    read: list[Domain] = []
    for line in file.read_text("utf-8").splitlines():
        kind, _, rest = line.partition(" ")
        parts = [part.strip() for part in rest.split("|")]
        split = [[item.strip() for item in part.split(";") if item.strip()] for part in parts]
        if kind == "D":
            read.append(Domain(rest))
        elif kind == "T":
            read[-1].plural[parts[0]] = parts[1]
        elif kind == "R":
            read[-1].plural.setdefault(parts[1], f"{parts[1]}s")
            read[-1].relations.append(
                Relation("R", parts[0], parts[1], split[2], split[3], split[4], split[5], parts[6])
            )
        elif kind == "V":
            read[-1].relations.append(Relation("V", parts[0], parts[1], split[2], split[3], split[4], split[5], ""))
        elif kind == "N":
            read[-1].relations.append(Relation("N", parts[0], "word", split[1], split[2], [], [], "what"))
    return read


class Asked(NamedTuple):
    """A phrase for a set of things, with its query, its type, and whether the phrase is plural."""

    text: str
    query: Things
    type: str


class World:
    """A domain with made things and facts; `name_of` has the name that this world gives each relation."""

    def __init__(self, domain: Domain, seed: int) -> None:
        """Make a world."""
        self.random, self.domain = random.Random(seed), domain
        self.cased = self.random.random() < 0.75
        self.typed = self.random.random() < 0.6
        self.relations = [r for r in domain.relations if self.random.random() < 0.85]
        self.name_of = {id(r): self._spelled(self.random.choice(r.names)) for r in self.relations}
        types = {r.subject for r in self.relations} | {r.object for r in self.relations if r.kind == "R"}
        self.things = {t: self._names(self.random.randint(6, 16)) for t in sorted(types)}
        self.triples: list[tuple[str, str, str]] = []
        self.objects: dict[tuple[str, str], list[str]] = defaultdict(list)
        for relation in self.relations:
            self._fill(relation)
        self.type_name = self._spelled(self.random.choice(_TYPE_NAMES))
        if self.typed:
            self.triples += [(name, self.type_name, t) for t, names in self.things.items() for name in names]
        self.random.shuffle(self.triples)
        self.facts = Facts(Graph.from_triples(self.triples).columns)

    def _spelled(self, name: str) -> str:
        style = self.random.random()
        if style < 0.3:
            return name.replace(" ", "_")
        if style < 0.45:
            first, *rest = name.replace("-", " ").split()
            return first + "".join(word.capitalize() for word in rest)
        return "has " + name if style < 0.5 else name

    def _names(self, count: int) -> list[str]:
        names: dict[str, None] = {}
        while len(names) < count:
            word = "".join(self.random.sample(_SYLLABLES, self.random.randint(2, 3))).capitalize()
            other = "".join(self.random.sample(_SYLLABLES, 2)).capitalize()
            pair = f"{self.random.choice(_ADJECTIVES)} {self.random.choice(_NOUNS)}".title()
            names[
                self.random.choice([word, f"{other} {word}", f"{other} {word}", f"The {pair}", pair + " " + word])
            ] = None
        return list(names)

    def _fill(self, relation: Relation) -> None:
        name = self.name_of[id(relation)]
        for subject in self.things[relation.subject]:
            if self.random.random() < 0.12:
                continue
            for value in self._objects(relation, subject):
                self.triples.append((subject, name, value))
                self.objects[subject, name].append(value)

    def _objects(self, relation: Relation, subject: str) -> list[str]:
        pick = self.random
        if relation.kind == "N":
            return [pick.choice(_VALUES)]
        if relation.object == "year":
            return [str(pick.randint(1500, 2024))]
        if relation.object == "date":
            return [f"{pick.randint(1700, 2024)}-{pick.randint(1, 12):02}-{pick.randint(1, 28):02}"]
        if relation.object == "number":
            return [str(pick.choice([pick.randint(2, 90), pick.randint(100, 999), pick.randint(1000, 90000)]))]
        others = [thing for thing in self.things[relation.object] if thing != subject]
        return pick.sample(others, min(len(others), pick.choice([1, 1, 1, 2, 3])))

    # Phrases of sets.

    def name(self, text: str) -> str:
        """Return a name as a question may write it."""
        return text if self.cased else text.lower()

    def thing(self, type: str) -> Asked:
        """Return a thing that is named."""
        name = self.random.choice(self.things[type])
        return Asked(self.name(name), Named(name), type)

    def step(self, relation: Relation, inverse: bool = False) -> Step:
        """Return a step along a relation as this world names it."""
        return Step(self.name_of[id(relation)], inverse)

    def along(self, of: Asked, relation: Relation) -> Asked:
        """Return a phrase for the objects of a relation."""
        noun = self.random.choice(relation.nouns)
        noun = noun + "s" if self.random.random() < 0.2 and not noun.endswith("s") else noun
        text = self.random.choice(
            [f"the {noun} of {of.text}", f"{of.text} 's {noun}", f"{of.text}'s {noun}", f"the {noun} of {of.text}"]
        )
        return Asked(text, Follow(of.query, self.step(relation)), relation.object)

    def back(self, of: Asked, relation: Relation) -> Asked:
        """Return a phrase for the subjects of a relation."""
        plural, noun = self.domain.plural[relation.subject], self.random.choice(relation.nouns)
        verb = self.random.choice(relation.forward) if relation.forward else f"has the {noun}"
        passive = verb.split(" ", 1)[1] if verb.split(" ")[0] in ("was", "is") else f"that {verb}"
        choices = [
            f"the {plural} {passive} {of.text}",
            f"the {relation.subject} {passive} {of.text}",
            f"{plural} whose {noun} is {of.text}",
        ]
        if relation.backward:
            active = self.random.choice(relation.backward)
            choices += [
                f"the {plural} {of.text} {active}",
                f"the {plural} that {of.text} {active}",
                f"the {relation.subject} which {of.text} {active}",
            ]
        return Asked(self.random.choice(choices), Follow(of.query, self.step(relation, True)), relation.subject)

    def shared(self, of: Asked, relation: Relation) -> Asked:
        """Return a phrase for the things with the same object."""
        plural, noun = self.domain.plural[of.type], self.random.choice(relation.nouns)
        text = self.random.choice(
            [f"the {plural} that share the {noun} with {of.text}", f"{plural} with the same {noun} as {of.text}",
             f"the {plural} that have the same {noun} as the {of.type} {of.text}",
                 f"other {plural} of the {noun} of {of.text}",
             f"the {plural} whose {noun} is also that of {of.text}", f"the {plural} which share {noun}s with {of.text}",
             f"the {plural} with the {noun} of the {of.type} {of.text}"]
        )  # fmt: skip
        there = Follow(Follow(of.query, self.step(relation)), self.step(relation, True))
        return Asked(text, Except(there, of.query), of.type)

    def path(self, length: int) -> Asked:
        """Return a phrase of a path from a thing."""
        asked = self.thing(self.random.choice(list(self.things)))
        while length > 0:
            ahead = [r for r in self.relations if r.subject == asked.type]
            behind = [r for r in self.relations if r.kind == "R" and r.object == asked.type]
            kept = [r for r in ahead if r.kind in "RN"]
            if length > 1 and kept and isinstance(asked.query, Named) and self.random.random() < 0.3:
                asked, length = self.shared(asked, self.random.choice(kept)), length - 2
                continue
            if not ahead + behind:
                break
            relation = self.random.choice(ahead + behind)
            asked = self.along(asked, relation) if relation in ahead else self.back(asked, relation)
            length -= 1
        return asked

    def last(self, of: Asked) -> tuple[str, Things]:
        """Return a question whose last step is asked by a verb or an interrogative."""
        pick, ahead = self.random, [r for r in self.relations if r.subject == of.type]
        behind = [r for r in self.relations if r.kind == "R" and r.object == of.type]
        if not ahead + behind:
            return self.wrapped(of)
        relation = pick.choice(ahead + behind)
        noun = pick.choice(relation.nouns)
        if relation in ahead:
            query = Follow(of.query, self.step(relation))
            if relation.kind == "V":
                return pick.choice(relation.forward).replace("{}", of.text), query
            texts = [
                f"what {noun} does {of.text} have",
                f"which {noun} does {of.text} have",
                f"{of.text} have which {noun}",
            ]
            if relation.kind == "N":
                return pick.choice([*texts, f"what is {of.text} 's {noun}", f"which {noun} is {of.text}"]), query
            verb = pick.choice(relation.forward)
            texts += [f"{of.text} {verb} {relation.asks}", f"{of.text} {verb} which {relation.object}"]
            texts += [f"{relation.asks} {pick.choice(relation.backward)} {of.text}"] * 4
            aux, _, rest = verb.partition(" ")
            texts += (
                [f"{relation.asks} {aux} {of.text} {rest}"] * 3
                if aux in ("is", "was")
                else [f"{relation.asks} does {of.text} {verb}"]
            )
            return pick.choice(texts), query
        query = Follow(of.query, self.step(relation, True))
        plural = self.domain.plural[relation.subject]
        texts = [
            f"which {plural} have the {noun} {of.text}",
            f"{of.text} is the {noun} of which {plural}",
            f"what {plural} have {of.text} as {noun}",
        ]
        if relation.forward and relation.kind == "R":
            verb, active = pick.choice(relation.forward), pick.choice(relation.backward)
            texts += [
                f"which {plural} {verb} {of.text}",
                f"what {verb} {of.text}",
                f"which {relation.subject} {verb} {of.text}",
                f"what {plural} did {of.text} {active}",
                f"{of.text} {active} which {plural}",
                f"what did {of.text} {active}",
            ]
        return pick.choice(texts), query

    def wrapped(self, of: Asked) -> tuple[str, Things]:
        """Return a question for a set."""
        text = of.text
        bare = text.removeprefix("the ")
        forms = [
            f"what is {text}",
            f"what are {text}",
            f"who is {text}",
            f"which is {text}",
            f"{text}",
            f"name {text}",
            f"list {text}",
            f"show me {text}",
            f"which {bare}",
            f"what {bare}",
            f"tell me {text}",
            f"give me all {bare}",
        ]
        return self.random.choice(forms), of.query

    # Questions.

    def question(self) -> tuple[str, Query] | None:
        """Return a question and its query; None where this world cannot ask what was drawn."""
        made = self.random.choices(
            (self.of_path, self.of_two, self.of_extreme, self.of_comparison, self.of_count,
                 self.of_truth, self.of_negation, self.of_condition),
            (46, 8, 9, 7, 7, 9, 7, 7),
        )[0]()  # fmt: skip
        if made is None:
            return None
        text, query = made
        if self.cased and self.random.random() < 0.7:
            text = text[:1].upper() + text[1:]
        return text + self.random.choice(["?", "?", "", " ?"]), query

    def of_path(self) -> tuple[str, Query]:
        """Ask for the end of a path of one to three steps."""
        length = self.random.choice([0, 0, 1, 1, 2, 2])
        return (
            self.last(self.path(length))
            if length == 0 or self.random.random() < 0.65
            else self.wrapped(self.path(length + 1))
        )

    def set_of(self) -> Asked | None:
        """Return a set of things of one type: all of the type, or what a path leads back to."""
        pick = self.random
        if self.typed and pick.random() < 0.5:
            type = pick.choice(list(self.things))
            return Asked("the " + self.domain.plural[type], OfType(type), type)
        behind = [r for r in self.relations if r.kind == "R"]
        relation = pick.choice(behind) if behind else None
        return self.back(self.thing(relation.object), relation) if relation else None

    def of_two(self) -> tuple[str, Query] | None:
        """Ask for the things that two named things share."""
        types = [t for t in self.things if len([r for r in self.relations if r.subject == t and r.kind == "R"]) > 1]
        if not types:
            return None
        type = self.random.choice(types)
        first, second = self.random.sample([r for r in self.relations if r.subject == type and r.kind == "R"], 2)
        if self.random.random() < 0.3:
            second = first
        one, two = self.thing(first.object), self.thing(second.object)
        a, b = self.back(one, first), self.random.choice(second.forward)
        joined = self.random.choice(["and", "that also", "which"])
        return self.wrapped(
            Asked(f"{a.text} {joined} {b} {two.text}", Both(a.query, Follow(two.query, self.step(second, True))), type)
        )

    def _values(self, type: str, adjectives: bool = True) -> list[Relation]:
        return [
            r
            for r in self.relations
            if r.kind == "V" and r.subject == type and (not adjectives or len(r.backward) == 4)
        ]

    def of_extreme(self) -> tuple[str, Query] | None:
        """Ask for the thing with the largest or smallest value."""
        of = self.set_of()
        values = self._values(of.type) if of else []
        if not of or not values:
            return None
        relation, largest = self.random.choice(values), self.random.random() < 0.5
        word, noun = relation.backward[1 if largest else 3], self.random.choice(relation.nouns)
        bare = of.text.removeprefix("the ")
        single = bare.replace(self.domain.plural[of.type], of.type, 1)
        texts = [f"which of {of.text} is the {word}", f"what is the {word} of {of.text}",
                 f"what is the {word} {single}", f"which {single} is the {word}",
                 f"which {single} has the {'largest' if largest else 'smallest'} {noun}",
                 f"{word} {single}", f"which {single} has the {'highest' if largest else 'lowest'} {noun}",
                 f"{single} with the {'most' if largest else 'least'} {noun}"]  # fmt: skip
        return self.random.choice(texts), Extreme(of.query, (self.step(relation),), largest)

    def of_comparison(self) -> tuple[str, Query] | None:
        """Ask which of two things has the larger or smaller value."""
        type = self.random.choice(list(self.things))
        values = self._values(type)
        if not values or len(self.things[type]) < 2:
            return None
        relation, largest = self.random.choice(values), self.random.random() < 0.5
        names = self.random.sample(self.things[type], 2)
        a, b = map(self.name, names)
        word, noun = relation.backward[0 if largest else 2], self.random.choice(relation.nouns)
        texts = [f"which is {word}, {a} or {b}", f"which {type} is {word}, {a} or {b}",
                 f"is {a} or {b} {word}", f"who is {word}, {a} or {b}", f"what is {word}: {a} or {b}",
                 f"which has {'more' if largest else 'less'} {noun}, {a} or {b}",
                 f"which of {a} and {b} is {word}",
                 f"which has the {'higher' if largest else 'lower'} {noun}, {a} or {b}"]  # fmt: skip
        return self.random.choice(texts), Extreme(
            Either(Named(names[0]), Named(names[1])), (self.step(relation),), largest
        )

    def of_count(self) -> tuple[str, Query] | None:
        """Ask how many things are in a set."""
        of = self.set_of()
        if of is None:
            return None
        bare = of.text.removeprefix("the ")
        texts = [
            f"how many {bare} are there",
            f"how many {bare}",
            f"number of {bare}",
            f"count {of.text}",
            f"how many {bare} exist",
            f"what is the number of {bare}",
        ]
        of_thing = [
            r for r in self.relations if isinstance(of.query, Follow) and of.query.step.relation == self.name_of[id(r)]
        ]
        if of_thing and of_thing[0].backward:
            assert isinstance(of.query, Follow)
            name = self.name(of.query.things.name) if isinstance(of.query.things, Named) else ""
            texts += [
                f"how many {self.domain.plural[of.type]} did {name} {self.random.choice(of_thing[0].backward)}",
                f"how many {self.domain.plural[of.type]} does {name} have",
            ] * 3
        return self.random.choice(texts), Count(of.query)

    def of_truth(self) -> tuple[str, Query] | None:
        """Ask whether a fact holds."""
        relation = self.random.choice([r for r in self.relations if r.kind in "RN"] or [None])
        if relation is None:
            return None
        subject = self.random.choice(self.things[relation.subject])
        known = self.objects.get((subject, self.name_of[id(relation)]))
        pool = self.things.get(relation.object) or list(_VALUES)
        value = self.random.choice(known if known and self.random.random() < 0.5 else pool)
        a, b, noun = self.name(subject), self.name(value), self.random.choice(relation.nouns)
        texts = [
            f"is {b} the {noun} of {a}",
            f"is the {noun} of {a} {b}",
            f"was {b} {a} 's {noun}",
            f"does {a} have the {noun} {b}",
        ]
        if relation.forward:
            aux, _, rest = self.random.choice(relation.forward).partition(" ")
            texts += [f"{aux} {a} {rest} {b}"] * 2 if aux in ("is", "was") else [f"does {a} {aux} {rest} {b}"] * 2
            texts += [f"did {b} {self.random.choice(relation.backward)} {a}"] * 2
        return self.random.choice(texts), Exists(Both(Follow(Named(subject), self.step(relation)), Named(value)))

    def of_negation(self) -> tuple[str, Query] | None:
        """Ask for the things of a set without a relation, or not with a thing."""
        of = self.set_of()
        relations = [r for r in self.relations if of and r.subject == of.type]
        if not of or not relations:
            return None
        relation = self.random.choice(relations)
        bare, noun = of.text.removeprefix("the "), self.random.choice(relation.nouns)
        if relation.kind != "R" or self.random.random() < 0.5:
            texts = [
                f"which {bare} have no {noun}",
                f"{bare} without {noun}",
                f"{bare} without a {noun}",
                f"which of {of.text} do not have a {noun}",
                f"for which {bare} is no {noun} known",
            ]
            return self.random.choice(texts), Where(of.query, Has((self.step(relation),), True))
        other, (aux, _, rest) = self.thing(relation.object), self.random.choice(relation.forward).partition(" ")
        texts = [f"which {bare} {aux} not {rest} {other.text}" if aux in ("is", "was")
                 else f"which {bare} do not {aux} {rest} {other.text}",
                 f"{of.text} whose {noun} is not {other.text}", f"{bare} except those {rest} {other.text}"]  # fmt: skip
        return self.random.choice(texts), Except(of.query, Follow(other.query, self.step(relation, True)))

    def of_condition(self) -> tuple[str, Query] | None:
        """Ask for the things of a set whose value compares so with a literal."""
        of = self.set_of()
        values = self._values(of.type, False) if of else []
        if not of or not values:
            return None
        relation = self.random.choice(values)
        sides: list[tuple[Comparison, bool]] = [(">", True), ("<", False), (">", True), ("<", False), ("=", True)]
        comparison, above = self.random.choice(sides)
        bare, noun = of.text.removeprefix("the "), self.random.choice(relation.nouns)
        values_there = [v for (s, name), own in self.objects.items() if name == self.name_of[id(relation)] for v in own]
        value = self.random.choice(values_there or ["10"])
        value = value[:4] if relation.object == "date" and self.random.random() < 0.6 else value
        adjectives = relation.backward
        than = [
            f"more than {value}" if above else f"less than {value}",
            f"over {value}" if above else f"under {value}",
            f"above {value}" if above else f"below {value}",
        ]
        texts = [f"which {bare} have a {noun} of {x}" for x in than] + [f"{bare} with {noun} {x}" for x in than]
        if relation.object != "number":
            texts = [
                f"which {bare} have a {noun} {'after' if above else 'before'} {value}",
                f"{bare} whose {noun} is {'after' if above else 'before'} {value}",
                f"{bare} {'since' if above else 'until'} {value} by {noun}",
                f"{bare} {'after' if above else 'before'} {value}",
            ]
        if len(adjectives) == 4 and relation.object == "number":
            texts += [
                f"which {bare} are {adjectives[0 if above else 2]} than {value}",
                f"{bare} {adjectives[0 if above else 2]} than {value}",
            ]
        if comparison == "=":
            texts = [
                f"which {bare} have {noun} {value}",
                f"{bare} with a {noun} of {value}",
                f"{bare} whose {noun} is {value}",
                f"{bare} from {value} by {noun}",
            ]
        return self.random.choice(texts), Where(of.query, Compare((self.step(relation),), comparison, value))


def questions(world: World, count: int) -> Sequence[tuple[str, Query]]:
    """Return different questions over a world, whose sets are not empty."""
    made: dict[str, Query] = {}
    execution = Execution(world.facts)
    for _ in range(8 * count):
        question = world.question() if len(made) < count else None
        if question is not None and _has_answer(question[1], execution):
            made.setdefault(*question)
    return list(made.items())


def _has_answer(query: Query, execution: Execution) -> bool:
    """Return whether a query gives things, counts some, or may be untrue."""
    result = execution.result(query)
    return isinstance(query, Exists) or (len(result) > 0 if isinstance(result, np.ndarray) else bool(result))
