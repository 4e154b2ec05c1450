"""References between documents, by rules and by a language model, and the corpus graph that they make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Index
from graphwright.data.document import Document
from graphwright.errors import ModelError
from graphwright.extract import estimate_references, with_references
from graphwright.extract.references import CitedDocuments
from graphwright.methods.registry import make_method
from graphwright.models import BudgetedLLM, HashEncoder, Prices, ScriptedLLM
from graphwright.models.protocols import Usage
from graphwright.operators.run import Run
from graphwright.operators.state import start

BRAT = Document(
    "E12-2021", "Both tools render vector graphics.", "BRAT: a web-based annotation tool",
    {"authors": "Stenetorp, Pontus and Pyysalo, Sampo", "year": "2012", "doi": "10.18653/v1/E12-2021"},
)  # fmt: skip
DOCCANO = Document("doccano", "It exports JSON lines.", "doccano: text annotation for humans", {"year": "2018"})
LIDA = Document("D19-3001", "LIDA fills gaps of BRAT (Stenetorp et al., 2012).", "LIDA: dialogue annotation")
LATER = Document(
    "x-2020", "See doi:10.18653/V1/E12-2021. We compare with Doccano: Text Annotation for Humans.", "Later"
)


def links(documents: list[Document]) -> dict[str, tuple[str, ...]]:
    return {document.id: document.links for document in documents}


def test_rules_find_identifiers_titles_and_authors_with_years() -> None:
    assert links(with_references([BRAT, DOCCANO, LIDA, LATER])) == {
        "E12-2021": (),
        "doccano": (),
        "D19-3001": ("E12-2021",),
        "x-2020": ("E12-2021", "doccano"),
    }


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("as in E12-2021, and", True),
        ("(https://aclanthology.org/E12-2021).", False),  # an address of which only a part is the id
        ("E12-20211 is another", False),
        ("Stenetorp and Pyysalo [2012b]", True),
        ("Stenetorp was born in 1970", False),
        ("brat, a  WEB-based\nannotation tool", True),
        ("a web-based annotation tool", False),
        ("BRAT: a web-based anno-\ntation tool", True),
        ("Pyysalo (2012)", False),  # not the first author
    ],
)
def test_citations_are_recognised(text: str, cited: bool) -> None:
    assert CitedDocuments([BRAT]).cited_in(text) == ({"E12-2021"} if cited else set())


@pytest.mark.parametrize(
    ("reference", "cited"),
    [
        ("Stenetorp et al., 2012", True),
        ("BRAT: a web-based anotation tool", True),  # a letter is missing
        ("BRAT: a web based annotation …", True),
        ("BRAT: a web …", False),  # too short
        ("doccano: web-based annotation tool", False),
        ("", False),
    ],
)
def test_single_reference_may_be_spelled_differently(reference: str, cited: bool) -> None:
    assert CitedDocuments([BRAT, DOCCANO]).cited_by(reference) == ({"E12-2021"} if cited else set())


def test_shortened_title_of_several_documents_is_dropped() -> None:
    twins = [Document(name, "...", f"Annual Review of Information Science {name}") for name in ("one", "two")]
    assert CitedDocuments(twins).cited_by("Annual Review of Information …") == set()


def test_ambiguous_author_and_year_are_dropped_and_links_kept() -> None:
    twin = Document("other", "...", "", {"author": "Pontus Stenetorp", "date": "2012-05"})
    linked = Document("c", "(Stenetorp, 2012)", links=("given",))
    assert links(with_references([BRAT, twin, linked]))["c"] == ("given",)
    assert CitedDocuments([twin]).cited_in("Stenetorp et al. (2012)") == {"other"}


@given(
    st.lists(st.lists(st.sampled_from("abcd"), min_size=3, max_size=5), min_size=1, max_size=5),
    st.lists(st.sampled_from("abcd"), max_size=12),
)
def test_titles_are_found_across_lines(titles: list[list[str]], text: list[str]) -> None:
    documents = [Document(f"t{at}", "x", " ".join(title)) for at, title in enumerate(titles)]
    expected = {
        f"t{at}" for at, title in enumerate(titles) if any(text[i : i + len(title)] == title for i in range(len(text)))
    }
    assert CitedDocuments(documents).cited_in(" ".join(text)) == expected


def test_model_lists_citations_and_invalid_reply_falls_back() -> None:
    prompts: list[str] = []

    def model(system: str, user: str) -> str:
        prompts.append(user)
        if "Both tools" in user:
            return '{"references": ["doccano: text annotation for humans", "Nobody, 1999"]}'
        if "LIDA" in user:
            return "I cannot say."
        return '{"references": []}'

    usage = Usage()
    long = Document("long-1", "word " * 1000 + "E12-2021", "Long")
    shown_work: list[tuple[str, int, int]] = []
    listed = with_references(
        [BRAT, DOCCANO, LIDA, long],
        ScriptedLLM(model),
        threads=1,
        usage=usage,
        progress=lambda *work: shown_work.append(work),
    )
    assert shown_work == [("find references", done, 5) for done in range(1, 6)]
    assert links(listed) == {
        "E12-2021": ("doccano",),
        "doccano": (),
        "D19-3001": ("E12-2021",),
        "long-1": (),
    }
    shown = [json.loads(prompt.splitlines()[1])["text"] for prompt in prompts if prompt.startswith("The passage:")]
    assert max(map(len, shown)) <= 4096 and "".join(shown).count("word") >= 1000 and usage.prompt_tokens
    with pytest.raises(ModelError, match="budget is exhausted"):
        with_references([BRAT, LIDA], BudgetedLLM(ScriptedLLM(model), max_tokens=10))


def test_reference_estimate_counts_and_prices_prompts() -> None:
    long = Document("long-1", "word " * 1000, "Long")
    estimate = estimate_references([BRAT, long], prices=Prices(1.0, 2.0))
    assert estimate.calls == 3 and estimate.prompt_tokens > 1250 and estimate.completion_tokens > 0
    assert estimate.cost == pytest.approx((estimate.prompt_tokens + 2 * estimate.completion_tokens) / 1e6)


def test_corpus_graph_has_edge_per_reference(tmp_path: Path) -> None:
    index = Index.create(tmp_path / "papers", encoder=HashEncoder())
    index.add([BRAT, DOCCANO, LIDA, LATER], transform=with_references)
    graph = index.snapshot.graph
    assert graph.passages is not None
    heads, tails = graph.columns.references
    document = [graph.passages.of(int(node)).document for node in (*heads, *tails)]
    assert sorted(zip(document[: len(heads)], document[len(heads) :], strict=True)) == [
        ("D19-3001", "E12-2021"), ("x-2020", "E12-2021"), ("x-2020", "doccano"),
    ]  # fmt: skip
    search = make_method("fastinsight", index.snapshot, batch=1, budget=3, relations=("refers to",)).search
    state = search(start("LIDA dialogue annotation", graph), Run())
    assert {passage.document for passage in state.passages or ()} == {"D19-3001", "E12-2021", "x-2020"}
