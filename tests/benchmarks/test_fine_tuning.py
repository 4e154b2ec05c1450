"""Embedding models fine-tuned on a tiny graph, from tiny models that the test makes."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from published.fine_tuning import TuneSchedule, tune
from published.path_groups import path_groups

from graphwright import Graph, start
from graphwright.errors import DataError, ModelError, NeedsError, OptionError
from graphwright.learn.candidates import Example
from graphwright.learn.labels import Labels, make_labels
from graphwright.learn.refine import ShortestPathLabels
from graphwright.methods.papers.lego import lego
from graphwright.models.registry import cross_encoder_of, encoder_of

# Third parties warn of their own affairs.
pytestmark = pytest.mark.filterwarnings("ignore")

RELATIONS = {"directed": "directed_by", "starred in": "starred_actors", "wrote": "written_by"}
FILMS = Graph.from_triples(
    [(f"film{at}", relation, f"{relation[0]}{at}") for at in range(12) for relation in RELATIONS.values()]
)
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "_")
VERBS = ("who", "directed", "starred", "in", "wrote", "by", "actors", "written")
WORDS = [*SPECIAL, *VERBS, *(f"{name}{at}" for at in range(12) for name in ("film", "d", "s", "w"))]
SCHEDULE = TuneSchedule(epochs=14, rate=1e-2, batch=8, held_out=0.2)


def labels(folder: Path, films: range = range(10)) -> Labels:
    asked = [
        Example(f"{verb}-{at}", f"who {verb} film{at}", (FILMS.id(f"film{at}"),), (FILMS.id(f"{relation[0]}{at}"),))
        for at in films
        for verb, relation in RELATIONS.items()
    ]
    return make_labels(FILMS, asked, ShortestPathLabels(), folder / "labels.jsonl")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model of two layers with random weights, and the words of the graph."""
    pytest.importorskip("sentence_transformers")
    import transformers

    folder = tmp_path_factory.mktemp("base")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(str(folder))
    transformers.set_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        initializer_range=0.2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(str(folder))
    return str(folder)


@pytest.fixture(scope="module", params=["encoder", "cross-encoder"])
def tuned(
    request: pytest.FixtureRequest, base: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, dict[str, Any]]:
    import torch

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("tuned")
    record = tune(FILMS, labels(folder), request.param, base, folder / "model", SCHEDULE)
    return request.param, folder / "model", record


def test_example_group_begins_with_explaining_text(tmp_path: Path) -> None:
    for own in path_groups(FILMS, labels(tmp_path), negatives=3):
        for group in own:
            verb, film = group.question[4:].rsplit(" ", 1)
            assert group.id == f"{verb}-{film[4:]}"
            assert group.texts[0] == f"{film} {RELATIONS[verb]} {RELATIONS[verb][0]}{film[4:]}"
            assert 2 <= len(group.texts) <= 4 and len(set(group.texts)) == len(group.texts)
            # The others are near the film, and none of them is what is asked for.
            assert all(text.startswith(film) and text != group.texts[0] for text in group.texts[1:])
    drawn = [path_groups(FILMS, labels(tmp_path), seed=seed) for seed in (3, 3, 4)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_fine_tuning_learns_relation_for_unseen_films(
    tuned: tuple[str, Path, dict[str, Any]],
) -> None:
    kind, folder, record = tuned
    assert record["loss"][-1] < record["loss"][0] and record["accuracy"][-1] == 1 > record["accuracy"][0]
    model: Any = (encoder_of if kind == "encoder" else cross_encoder_of)(f"sbert:{folder}")
    operator = lego(12, model) if kind == "encoder" else lego(13, encoder_of(lambda texts: [[1.0]] * len(texts)), model)
    for verb, relation in RELATIONS.items():
        first = operator(start(f"who {verb} film11", FILMS, entities=["film11"])).evidence
        assert first is not None and first.texts(FILMS)[0] == f"film11 {relation} {relation[0]}11"


def test_fine_tuned_record_has_graph_split_and_kind(tuned: tuple[str, Path, dict[str, Any]]) -> None:
    kind, folder, record = tuned
    assert json.loads((folder / "graphwright.json").read_text("utf-8")) == record
    assert record["kind"] == kind and record["graph"] == FILMS.columns.checksum
    assert len(record["held_out"]) == 6 and len(record["learned"]) == 24
    assert not set(record["held_out"]) & set(record["learned"])


def test_fine_tuning_with_invalid_input_raises_before_training(base: str, tmp_path: Path) -> None:
    learned = labels(tmp_path)
    with pytest.raises(OptionError, match="'reader'; it must be encoder or cross-encoder"):
        tune(FILMS, learned, "reader", base, tmp_path / "new")
    with pytest.raises(OptionError, match="holds no fine-tuned model"):
        tune(FILMS, learned, "encoder", base, tmp_path)
    with pytest.raises(ModelError, match="could not be loaded"):
        tune(FILMS, learned, "encoder", str(tmp_path / "nothing"), tmp_path / "new")
    with pytest.raises(DataError, match="nothing to learn"):
        tune(FILMS, Labels(learned.about, ()), "encoder", base, tmp_path / "new")
    with pytest.raises(DataError, match="Only one labelled question"):
        tune(FILMS, Labels(learned.about, learned.rows[:1]), "encoder", base, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="the extra is installed")
def test_fine_tuning_without_extra_names_it(tmp_path: Path) -> None:
    with pytest.raises(NeedsError, match=r"graphwright\[sbert\]"):
        tune(FILMS, labels(tmp_path), "encoder", "base", tmp_path / "new")
