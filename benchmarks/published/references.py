"""Measure detection of references (FastInsight, section 4.2.1) on documents whose references are known.

    python benchmarks/published/references.py --data DIR [--documents 1460] [--llm MODEL --base-url URL]

No set at hand has texts with citations and a list of them. So citations are written into the abstracts of CISI: each
cites three others, in turns in the forms of STYLES, and has one sentence that looks like a citation and is none. Which
documents are cited, and the years of publication, which CISI does not have, are drawn by seed.

The rules read each text. Without --llm the language model is an **oracle** that lists exactly the citations of a text,
as they are written: what is measured is what the step after a perfect reading finds, the most that a model which copies
citations as the prompt asks can reach. With --llm that model reads. Writes `references.json` and `references.md`. Two
more figures are of abstracts as they are: how much the rules find in CISI's, and what they find of Cora's known links
in Cora's, which are without stop words and titles.
"""

from __future__ import annotations

import json
import re
import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from graphwright.data.document import Document
from graphwright.data.documents import read_documents
from graphwright.extract.references import with_references
from graphwright.models import OpenAILLM
from graphwright.models.fake import ScriptedLLM
from graphwright.models.protocols import LLM

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Record, arguments, parse, read_results, table, write_results

CITED = 3  # documents that each document cites
LONGEST = 3000  # characters of an abstract, so that a model reads each document at once
ORACLE = "oracle"
_YEARS = (1950, 1979)


def surname(document: Document) -> str:
    """Return the surname of the first author."""
    return document.metadata["authors"].partition(",")[0]


def hyphenated(document: Document) -> str:
    """Return the title with its longest word divided at the end of a line."""
    longest = max(re.findall(r"\w+", document.title), key=len)
    half = len(longest) // 2
    return document.title.replace(longest, f"{longest[:half]}-\n{longest[half:]}", 1)


def misspelled(document: Document) -> str:
    """Return the title with two letters of its longest word exchanged."""
    longest = max(re.findall(r"\w+", document.title), key=len)
    at = len(longest) // 2
    return document.title.replace(longest, longest[: at - 1] + longest[at] + longest[at - 1] + longest[at + 1 :], 1)


STYLES: Mapping[str, Callable[[Document], str]] = {
    "identifier": lambda cited: cited.id,
    "title": lambda cited: f"“{cited.title}”",
    "title in capitals": lambda cited: cited.title.upper(),
    "title over the end of a line": hyphenated,
    "title with a misspelling": misspelled,
    "first four words of the title": lambda cited: f"“{' '.join(cited.title.split()[:4])} …”",
    "author and year": lambda cited: f"({surname(cited)}, {cited.metadata['year']})",
    "initials, author, year": lambda cited: f"{initials(cited)} {surname(cited)} ({cited.metadata['year']})",
    "author alone": lambda cited: f"the argument of {surname(cited)}",
}
"""How a document may be cited."""
LOOKALIKES: Mapping[str, Callable[[Document], str]] = {
    "a work that is not there, by author and year": lambda cited: f"Others disagree ({surname(cited)}, 1931).",
    "a year of birth": lambda cited: f"{surname(cited)} was born in {cited.metadata['year']}.",
    "words of a title in a sentence": lambda cited: f"Little is said about {cited.title.lower()} in general.",
}
"""Sentences that cite none of the documents."""


def initials(document: Document) -> str:
    """Return the initials of the first author."""
    return document.metadata["authors"].partition(",")[2].split()[0]


@dataclass(frozen=True)
class Citing:
    """Documents with citations: what each cites, in which style and words, and what its sentence without one names."""

    documents: list[Document]
    cited: dict[str, dict[str, str]]
    written: dict[str, list[str]]
    lookalikes: dict[str, tuple[str, str]]


def citable(data: Path, count: int) -> list[Document]:
    """Return documents of CISI with a title of five words or more, an author and a year drawn by seed."""
    draw, documents = Random(0), []
    for document in read_documents([data / "ir" / "cisi" / "corpus.jsonl"], print):
        year = str(draw.randint(*_YEARS))
        if len(re.findall(r"\w+", document.title)) >= 5 and re.match(r"[^\W\d_]+, \w", document.metadata["authors"]):
            metadata = {**document.metadata, "year": year}
            name, text = f"cisi-{document.id}", document.text[:LONGEST]
            documents.append(replace(document, id=name, text=text, metadata=metadata, links=()))
    return documents[:count]


def with_citations(documents: Sequence[Document], seed: int = 0) -> Citing:
    """Return the documents with three citations each and a sentence that looks like one."""
    draw, styles, lookalikes = Random(seed), list(STYLES.items()), list(LOOKALIKES.items())
    citing = Citing([], {}, {}, {})
    for number, document in enumerate(documents):
        others = draw.sample([other for other in documents if other.id != document.id], CITED + 1)
        forms = [styles[(CITED * number + place) % len(styles)] for place in range(CITED)]
        citations = [write(other) for (_, write), other in zip(forms, others, strict=False)]
        kind, sentence = lookalikes[number % len(lookalikes)]
        added = [f"This continues {citation}." for citation in citations] + [sentence(others[CITED])]
        citing.documents.append(replace(document, text="\n".join([document.text, *added])))
        citing.cited[document.id] = {other.id: style for (style, _), other in zip(forms, others, strict=False)}
        citing.written[document.id] = citations
        citing.lookalikes[document.id] = kind, others[CITED].id
    return citing


def oracle(citing: Citing) -> LLM:
    """Return a language model that lists the citations of each document as they are written."""
    listed = {" ".join(document.text.split()): citing.written[document.id] for document in citing.documents}

    def complete(system: str, user: str) -> str:
        line = next(line for line in user.splitlines() if line.startswith('{"text"'))
        return json.dumps({"references": listed[" ".join(json.loads(line)["text"].split())]})

    return ScriptedLLM(complete)


def measured(citing: Citing, llm: LLM | None) -> Record:
    """Return recall by style, precision, and the share of each kind of sentence that was taken for a citation."""
    links = {document.id: set(document.links) for document in with_references(citing.documents, llm)}
    found, taken = defaultdict[str, list[bool]](list), defaultdict[str, list[bool]](list)
    right = 0
    for name, of in citing.cited.items():
        for target, style in of.items():
            found[style].append(target in links[name])
        right += len(links[name] & of.keys())
        kind, target = citing.lookalikes[name]
        taken[kind].append(target in links[name])
    every = [value for values in found.values() for value in values]
    return {
        "citations": len(every),
        "links": sum(map(len, links.values())),
        "precision": right / max(sum(map(len, links.values())), 1),
        "recall": sum(every) / len(every),
        "recall by style": {style: sum(found[style]) / max(len(found[style]), 1) for style in STYLES},
        "taken": {kind: sum(taken[kind]) / max(len(taken[kind]), 1) for kind in LOOKALIKES},
    }


def without_citations(data: Path) -> Record:
    """Return what the rules find where nothing is cited: in CISI's abstracts, and in Cora's, whose links are known."""
    cisi = citable(data, 10_000)
    wrong = sum(len(document.links) for document in with_references(cisi))
    cora = list(read_documents([data / "ir" / "cora" / "corpus.jsonl"], print))
    known = {(document.id, target) for document in cora for target in document.links}
    alone = with_references([replace(document, links=()) for document in cora])
    found = {(document.id, target) for document in alone for target in document.links}
    return {
        "cisi": {"documents": len(cisi), "links": wrong},
        "cora": {"documents": len(cora), "known": len(known), "links": len(found), "right": len(found & known)},
    }


def page(results: Record) -> str:
    """Return the tables."""
    readers = {name: of for name, of in results.items() if name != "without citations"}
    names = {"rules": "rules", ORACLE: "a language model that lists every citation as written (oracle)"}
    header = ["", *(names.get(name, name) for name in readers)]
    rows = [["precision", *(share(of["precision"]) for of in readers.values())]]
    rows.append(["recall", *(share(of["recall"]) for of in readers.values())])
    for part, label in (("recall by style", "recall: {}"), ("taken", "taken for a citation: {}")):
        first = next(iter(readers.values()))[part]
        rows += [[label.format(key), *(share(of[part][key]) for of in readers.values())] for key in first]
    none, first = results["without citations"], next(iter(readers.values()))
    cora = none["cora"]
    return (
        "# References detected in texts\n\n"
        f"{first['citations']:,} citations, written into CISI's abstracts in nine forms in turns; percent. The oracle "
        "lists each citation as it is written: its column is what the matching finds after a perfect reading, the most "
        "that a language model can reach that copies citations; none was asked unless the table has its name.\n\n"
        f"## Rules and a language model\n\n{table(header, rows)}\n"
        f"In the {none['cisi']['documents']:,} abstracts as they are, which have no list of references, the rules find "
        f"{none['cisi']['links']:,} links: some to works that the abstract names, as in “Cutter's Rules for a "
        "dictionary catalog”, some by a phrase that is a title elsewhere, as “the social system of science”. Of Cora's "
        f"{cora['known']:,} links they find {cora['right']:,}: its texts are abstracts without stop words, without "
        "citations and without titles, so that no reader of texts can find them.\n"
    )


def share(value: float) -> str:
    """Return a share in percent."""
    return f"{100 * value:.1f}"


def model_of(options: Namespace) -> tuple[str, Callable[[Citing], LLM]]:
    """Return the name of the language model, and the function that gives it."""
    if options.llm is None:
        return ORACLE, oracle
    return options.llm, lambda citing: OpenAILLM(options.llm, options.base_url)


def main() -> None:
    """Measure the rules and a language model."""
    parser = arguments(__doc__)
    parser.add_argument("--documents", type=int, default=1460, help="the first ones")
    parser.add_argument("--llm", help="the model's name on the server")
    parser.add_argument("--base-url", help="address of the server, up to and with /v1")
    options = parse(parser)
    name, model = model_of(options)
    citing = with_citations(citable(options.data, options.documents))
    results: Record = {} if options.llm is None else read_results(options.out / "references.json")
    results |= {"rules": measured(citing, None), name: measured(citing, model(citing))}
    results["without citations"] = without_citations(options.data)
    write_results(options.out / "references.json", results, page(results))
    print(page(results))


if __name__ == "__main__":
    main()
