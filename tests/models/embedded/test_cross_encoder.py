"""The embedded cross-encoder, with the shipped weights."""

import copy
import hashlib
import json
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from graphwright.errors import ModelError, OptionError
from graphwright.models.embedded import cross_encoder, encoder
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder, TokenStates, tokens_of
from graphwright.models.embedded.encoder import WEIGHTS, MiniLM, checksum, weights_file
from graphwright.models.protocols import CrossEncoder, Encoder, Usage

QUESTION = "When was the university of Graz founded?"
GRAZ = "Graz\nGraz lies on the Mur. Its university was founded in 1585 by Archduke Charles II of Austria."
TEXTS = [
    "Mur\nThe Mur is a river in Central Europe. It is 464 km long and flows through Graz.",
    GRAZ,
    "Lyon\nLyon is a city in France, where the Rhône and the Saône meet.",
    "University of Vienna\nThe university of Vienna was founded in 1365 by Rudolf IV.",
]


def test_cross_encoder_meets_protocols():
    assert isinstance(MiniLMCrossEncoder(), CrossEncoder) and not isinstance(MiniLMCrossEncoder(), Encoder)


def test_cross_encoder_ranks_relevant_text_first():
    model = MiniLMCrossEncoder()
    scores = model.head(model.latents(QUESTION, TEXTS))
    assert scores.shape == (4,) and scores.dtype == np.float32 and int(scores.argmax()) == 1
    assert int(scores.argmin()) in (0, 2)


def test_cross_encoder_latent_does_not_depend_on_batch():
    model = MiniLMCrossEncoder()
    together = model.latents(QUESTION, TEXTS)
    for at, text in enumerate(TEXTS):
        np.testing.assert_allclose(model.latents(QUESTION, [text])[0], together[at], atol=2e-2)
    np.testing.assert_array_equal(model.latents(QUESTION, TEXTS), together)


def test_cross_encoder_is_thread_safe():
    model = MiniLMCrossEncoder()
    expected = model.latents(QUESTION, TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: model.latents(QUESTION, TEXTS), range(8)):
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("text", ["", " ", "\n", "Title\n", "\ntext", "x", "é\ud800\x00", "word " * 3000, "☃" * 600])
@pytest.mark.parametrize("question", ["", "?", "What?", "why " * 400])
def test_cross_encoder_reads_any_text(question, text):
    model = MiniLMCrossEncoder()
    latents = model.latents(question, [text])
    assert np.isfinite(model.head(latents)).all() and latents.shape == model.latents("a", ["b"]).shape


def test_cross_encoder_of_no_texts_is_empty():
    model = MiniLMCrossEncoder()
    assert model.latents("why?", []).shape[0] == 0 and model.head(model.latents("why?", [])).shape == (0,)
    with pytest.raises(OptionError, match="sequence of texts"):
        model.latents("why?", "one text")


def test_cross_encoder_states_are_cached():
    [item] = tokens_of(["Graz lies on the Mur."])
    assert tokens_of(["Graz lies on the Mur."])[0] is item
    np.testing.assert_allclose(item.vector, MiniLM().encode(["Graz lies on the Mur."])[0], atol=1e-3)
    assert item.states.shape == (len(item.ids), 384) and item.title == 0
    [titled] = tokens_of(["Graz\nGraz lies on the Mur."])
    assert titled.title == MiniLM().count_tokens(["Graz"])[0]
    assert [GRAZ[begin:end] for begin, end in tokens_of([GRAZ])[0].spans[:3]] == ["Graz", "Graz", "lies"]


def test_token_states_forget_oldest_texts():
    loaded = TokenStates(max_remembered=50)
    for number in range(40):
        loaded.of([f"Text number {number} of many."])
    assert loaded.size == sum(len(each.ids) for each in loaded.recent.values()) <= 50 and loaded.recent
    assert len(loaded.of([f"Text number {n} of many." for n in range(40)])) == 40


def test_cross_encoder_work_is_metered():
    usage = Usage()
    MiniLMCrossEncoder().latents(QUESTION, TEXTS, usage)
    assert usage.texts == 4 and usage.tokens > 40 and usage.seconds > 0


def test_cross_encoder_is_value():
    model = MiniLMCrossEncoder()
    assert repr(model) == "MiniLMCrossEncoder()" and model == pickle.loads(pickle.dumps(model)) == copy.copy(model)
    assert model.id.startswith("minilm-reading:")


def test_cross_encoder_checksum_matches_weights():
    parts = [weights_file(name).read_bytes() for name in ("states.onnx", "join.onnx", "head.npz")]
    recorded = json.loads(weights_file("model.json").read_text("utf-8"))["sha256"]
    assert hashlib.sha256(b"".join(parts)).hexdigest() == recorded
    card = weights_file("CARD.md").read_text("utf-8")
    for name in ("join.onnx", "head.npz", "states.onnx"):
        assert hashlib.sha256(weights_file(name).read_bytes()).hexdigest() in card


def test_weights_stay_below_size_limit():
    assert sum(file.stat().st_size for file in WEIGHTS.rglob("*") if file.is_file()) < 60_000_000


def test_missing_or_broken_weights_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(encoder, "WEIGHTS", tmp_path)
    with pytest.raises(ModelError, match=r"join\.onnx is missing.*build_reading"):
        cross_encoder._load.__wrapped__("minilm-reading")
    folder = tmp_path / "minilm-reading"
    shutil.copytree(WEIGHTS / "minilm-reading", folder)
    for name in ("join.onnx", "head.npz"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(b"nonsense")
        with pytest.raises(ModelError, match=r"graphwright again"):
            cross_encoder._load.__wrapped__("minilm-reading")
        (folder / name).write_bytes(whole)
    (folder / "model.json").write_text("{}")
    with pytest.raises(ModelError, match=r"model\.json cannot be read"):
        checksum.__wrapped__()
