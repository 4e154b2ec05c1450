"""The adapters on tiny models with random weights, which are written to disk here; without the extra, the way to it."""

import importlib.util
import pickle

import numpy as np
import pytest

from graphwright.errors import ModelError, OptionError
from graphwright.models.base import CrossEncoder, NamedEncoder, metered
from graphwright.models.sbert import SentenceTransformerCrossEncoder, SentenceTransformerEncoder

VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] graz lies on the mur and salt lowers it a b some more words ##s"
WORDS = VOCABULARY.split()
# Third parties warn of their own affairs.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is not None, reason="the extra is installed")
@pytest.mark.parametrize("kind", [SentenceTransformerEncoder, SentenceTransformerCrossEncoder])
def test_without_the_extra_one_is_told_how_to_get_it(kind):
    with pytest.raises(OptionError, match=r'pip install "graphwright\[sbert\]"'):
        kind("all-MiniLM-L6-v2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("sentence_transformers")
    return tmp_path_factory.mktemp("models")


def config(kind, **more):
    import transformers

    sizes = {"distilbert": ("dim", "n_heads", "n_layers", "hidden_dim")}.get(
        kind, ("hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size")
    )
    if kind == "qwen2":
        more["num_key_value_heads"] = 2
    return transformers.AutoConfig.for_model(
        kind, vocab_size=len(WORDS), **dict(zip(sizes, (16, 2, 2, 32), strict=True)), pad_token_id=0, **more
    )


def write(folder, name, model):
    """Save a model with a tokenizer of few words."""
    import transformers

    (folder / "vocab.txt").write_text("\n".join(WORDS))
    path = folder / name
    model.save_pretrained(path)
    inputs = ["input_ids", "attention_mask"]  # some models take no others
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=64, model_input_names=inputs)
    tokenizer.save_pretrained(path)
    return str(path)


@pytest.fixture(scope="module")
def encoder(folder):
    import torch
    import transformers

    torch.manual_seed(1)
    return SentenceTransformerEncoder(write(folder, "encoder", transformers.BertModel(config("bert"))), "cpu", 2)


@pytest.fixture(
    scope="module", params=["bert", "roberta", "xlm-roberta", "distilbert", "electra", "modernbert", "qwen2"]
)
def cross_encoder(request, folder):
    import torch
    import transformers

    torch.manual_seed(1)
    model = transformers.AutoModelForSequenceClassification.from_config(config(request.param, num_labels=1))
    return SentenceTransformerCrossEncoder(write(folder, request.param, model), "cpu", 2)


TEXTS = ["graz lies on the mur", "salt lowers it", "the mur", "", "words and more words " * 40]


def test_an_encoder_gives_what_the_library_gives(encoder):
    from sentence_transformers import SentenceTransformer

    with metered() as usage:
        vectors = encoder.encode(TEXTS)
    expected = SentenceTransformer(encoder.name, device="cpu").encode(TEXTS)
    assert isinstance(encoder, NamedEncoder) and encoder.id.endswith("encoder")
    assert vectors.dtype == np.float32 and usage.texts == 5
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert encoder.encode([]).shape == (0, 16) and encoder.dimension == 16


def test_both_halves_of_a_cross_encoder_give_what_the_library_gives(cross_encoder):
    from sentence_transformers import CrossEncoder as Whole

    expected = Whole(cross_encoder.name, device="cpu").predict([("on the mur", text) for text in TEXTS])
    with metered() as usage:
        latents = cross_encoder.latents("on the mur", TEXTS)
    scores = cross_encoder.head(latents)
    assert isinstance(cross_encoder, CrossEncoder) and usage.texts == 5
    assert latents.dtype == scores.dtype == np.float32
    assert latents.shape == (5, 1 if cross_encoder.name.endswith("qwen2") else 16) and scores.shape == (5,)
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert len(set(np.round(scores, 6))) > 1
    none = cross_encoder.latents("on the mur", [])
    assert none.shape == (0, latents.shape[1]) and cross_encoder.head(none).shape == (0,)


LAYERS = {
    "bert": ("bert.pooler.dense", "tanh", "classifier"),
    "roberta": ("classifier.dense", "tanh", "classifier.out_proj"),
    "xlm-roberta": ("classifier.dense", "tanh", "classifier.out_proj"),
    "distilbert": ("pre_classifier", "relu", "classifier"),
    "electra": ("classifier.dense", "gelu", "classifier.out_proj"),
}


def test_latents_are_what_the_last_two_layers_of_the_head_read(cross_encoder):
    import torch
    import transformers

    kind = cross_encoder.name.rpartition("/")[2]
    model = transformers.AutoModelForSequenceClassification.from_pretrained(cross_encoder.name).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(cross_encoder.name)("on the mur", TEXTS[0], return_tensors="pt")
    latents = cross_encoder.latents("on the mur", TEXTS[:1])
    if kind not in LAYERS:  # of one layer, or none
        assert latents.shape == (1, 1 if kind == "qwen2" else 16)
        return
    with torch.inference_mode():
        hidden = model.base_model(**tokens).last_hidden_state[:, 0]  # of [CLS]
        np.testing.assert_allclose(latents, hidden.numpy(), atol=1e-5)
        dense, between, last = LAYERS[kind]
        made = getattr(torch.nn.functional, between)(model.get_submodule(dense)(torch.from_numpy(latents * 40)))
        expected = torch.sigmoid(model.get_submodule(last)(made))[:, 0]
    # Far from what the models made: with these weights one activation is near to another close to 0.
    np.testing.assert_allclose(cross_encoder.head(latents * 40), expected.numpy(), atol=1e-6)


def test_they_are_small_values(encoder):
    assert pickle.loads(pickle.dumps(encoder)) == encoder == eval(repr(encoder)) and len(pickle.dumps(encoder)) < 300


def test_what_cannot_be_used_is_named(encoder, folder):
    import transformers

    with pytest.raises(ModelError, match=r"nowhere.*could not be loaded.*Hugging Face"):
        SentenceTransformerEncoder(str(folder / "nowhere")).encode(["a"])
    several = transformers.AutoModelForSequenceClassification.from_config(config("bert", num_labels=3))
    with pytest.raises(OptionError, match="gives 3 scores"):
        SentenceTransformerCrossEncoder(write(folder, "several", several), "cpu").latents("a", ["b"])
    with pytest.raises(OptionError, match="sequence of texts"):
        encoder.encode("text")
    with pytest.raises(OptionError, match="batch is 0"):
        SentenceTransformerEncoder("m", batch=0)
