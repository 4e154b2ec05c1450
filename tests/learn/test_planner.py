"""A planner trained on a tiny language model that the test makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphwright import Graph, start
from graphwright.errors import DataError, NeedsError
from graphwright.graph.relation_paths import relation_words, ways_of
from graphwright.learn import planner as module
from graphwright.learn.candidates import Example
from graphwright.learn.labels import Labels, make_labels
from graphwright.learn.planner import LoraSchedule, Planner, is_planner, train_planner
from graphwright.learn.refine import ShortestPathLabels
from graphwright.methods.papers.lego_systems import planned
from graphwright.methods.papers.reg import evidence_chains
from graphwright.operators.run import Run

# peft asks transformers for what the newest of these calls by another name.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

FILMS = Graph.from_triples(
    [(f"Film{at}", "directed_by", f"Mann{at}") for at in range(8)]
    + [(f"Film{at}", "starred_actors", f"Crowe{at}") for at in range(8)]
)


def labels(folder: Path) -> Labels:
    """Half of the questions ask for the director, half for the actor."""
    questions = []
    for at in range(6):
        film = FILMS.id(f"Film{at}")
        for verb, answer in (("directed", f"Mann{at}"), ("starred in", f"Crowe{at}")):
            questions.append(Example(f"{verb}-{at}", f"who {verb} Film{at}", (film,), (FILMS.id(answer),)))
    return make_labels(FILMS, questions, ShortestPathLabels(), folder / "labels.jsonl")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A language model of two layers, with random weights, and one token for each letter."""
    pytest.importorskip("peft")
    transformers: Any = pytest.importorskip("transformers")
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    letters = sorted(set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 :,?\n"))
    tokenizer = Tokenizer(models.WordLevel({"<s>": 0, "</s>": 1, **{c: i + 2 for i, c in enumerate(letters)}}, "<s>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("[\\s\\S]"), "isolated")
    folder = str(tmp_path_factory.mktemp("base"))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<s>"
    ).save_pretrained(folder)
    transformers.set_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(letters) + 2, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=128, bos_token_id=0, eos_token_id=1, initializer_range=0.4,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def trained(base: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("planner")
    schedule = LoraSchedule(epochs=25, rank=16, rate=1e-2, batch=4)
    return str(folder), train_planner(FILMS, labels(folder), base, folder, schedule)


def scores(folder: str, question: str, film: str) -> dict[str, float]:
    state = start(question, FILMS, entities=[film])
    after = (module.RelationPaths(1) >> module.Rerank(Planner(folder)))(state).items
    relations = [relation_words(FILMS, ways_of(FILMS, item)) for item in after.items()]
    return dict(zip(relations, after.ranked_scores.tolist(), strict=True))


def test_planner_learns_relation_for_unseen_entities(
    trained: tuple[str, dict[str, Any]],
) -> None:
    folder, about = trained
    assert about["loss"][-1] < about["loss"][0] / 4 and about["questions"] == 12
    directed, starred = (scores(folder, f"who {verb} Film7", "Film7") for verb in ("directed", "starred in"))
    assert directed["directed by"] > directed["starred actors"]
    assert starred["starred actors"] > starred["directed by"]


def test_planner_score_is_log_likelihood(trained: tuple[str, dict[str, Any]]) -> None:
    import torch

    folder, question = trained[0], "who directed Film1"
    model, tokenizer = module._loaded(folder)
    asked = tokenizer.encode(f"Question: {question}\nRelation path: ", add_special_tokens=False)
    total, tokens = 0.0, list(asked)
    for token in [*tokenizer.encode("directed by", add_special_tokens=False), tokenizer.eos_token_id]:
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([tokens])).logits[0, -1].double()
        total += float(torch.log_softmax(logits, 0)[token])
        tokens.append(token)
    assert scores(folder, question, "Film1")["directed by"] == pytest.approx(total, abs=1e-3)


def test_planner_likelihoods_do_not_depend_on_batch(trained: tuple[str, dict[str, Any]]) -> None:
    state = start("who directed Film1", FILMS, entities=["Film1"])
    items, run = module.RelationPaths(2)(state).items, Run()
    one, many = (Planner(trained[0], batch=size).prepare(state, run)(items) for size in (1, 32))
    np.testing.assert_allclose(one, many, atol=1e-4)
    assert run.usage.texts == 2 * len(set(items.texts(FILMS)))


def test_methods_accept_planner(trained: tuple[str, dict[str, Any]]) -> None:
    planner = Planner(trained[0])
    state = start("who directed Film3", FILMS, entities=["Film3"])
    best = (planned(planner, plans=1, length=2) >> module.Instances())(state).items
    assert best.texts(FILMS)[0] == "Film3 directed_by Mann3"
    chains = evidence_chains(planner)(state).items
    assert chains.texts(FILMS)[0].endswith("Mann3")


def test_planner_folder_records_training(trained: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    folder, about = trained
    assert json.loads((Path(folder) / "planner.json").read_text("utf-8")) == about
    assert is_planner(folder) and not is_planner(tmp_path)
    with pytest.raises(DataError, match="holds no planner"):
        scores(str(tmp_path), "who", "Film1")


def test_planner_needs_labels_with_path(base: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing to learn"):
        train_planner(FILMS, Labels({}, ()), base, tmp_path)


def test_planner_without_peft_names_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(NeedsError, match=r"graphwright\[train-llm\]"):
        train_planner(FILMS, labels(tmp_path), "base", tmp_path)
