"""The sentence-transformers adapters on tiny random models; without the extra, the error that names it."""

import importlib.util
import pickle

import numpy as np
import pytest
from tests.shared import corpus_index

from graphwright import ToPassages, VectorSearch, start
from graphwright.errors import ModelError, OptionError
from graphwright.graph.graph import Kind
from graphwright.models import (
    CrossEncoder,
    NamedEncoder,
    SentenceTransformerCrossEncoder,
    SentenceTransformerEncoder,
)
from graphwright.search import dense_index

VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] graz lies on the mur and salt lowers it a b some more words ##s"
WORDS = VOCABULARY.split()
# Third parties warn of their own affairs.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is not None, reason="the extra is installed")
@pytest.mark.parametrize("kind", [SentenceTransformerEncoder, SentenceTransformerCrossEncoder])
def test_sentence_transformers_without_extra_name_it(kind):
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


def test_encoder_equals_library(encoder):
    from sentence_transformers import SentenceTransformer

    vectors = encoder.encode(TEXTS)
    expected = SentenceTransformer(encoder.name, device="cpu").encode(TEXTS)
    assert isinstance(encoder, NamedEncoder) and encoder.id.endswith("encoder")
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert encoder.encode([]).shape == (0, 16) and encoder.dimension == 16


def test_cross_encoder_halves_equal_library(cross_encoder):
    from sentence_transformers import CrossEncoder as Whole

    expected = Whole(cross_encoder.name, device="cpu").predict([("on the mur", text) for text in TEXTS])
    latents = cross_encoder.latents("on the mur", TEXTS)
    scores = cross_encoder.head(latents)
    assert isinstance(cross_encoder, CrossEncoder)
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


def test_latents_feed_last_two_layers(cross_encoder):
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


def test_adapters_are_values(encoder):
    assert pickle.loads(pickle.dumps(encoder)) == encoder == eval(repr(encoder)) and len(pickle.dumps(encoder)) < 300


def test_unusable_model_is_named(encoder, folder):
    import transformers

    with pytest.raises(ModelError, match=r"nowhere.*could not be loaded.*Hugging Face"):
        SentenceTransformerEncoder(str(folder / "nowhere")).encode(["a"])
    several = transformers.AutoModelForSequenceClassification.from_config(config("bert", num_labels=3))
    with pytest.raises(OptionError, match="returns 3 scores"):
        SentenceTransformerCrossEncoder(write(folder, "several", several), "cpu").latents("a", ["b"])
    with pytest.raises(OptionError, match="sequence of texts"):
        encoder.encode("text")
    with pytest.raises(OptionError, match=r"latents takes a sequence of texts, not one: \['text'\]"):
        SentenceTransformerCrossEncoder("m").latents("a", "text")
    with pytest.raises(OptionError, match="batch is 0"):
        SentenceTransformerEncoder("m", batch=0)


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_half_precision_scores_do_not_tie(folder, precision):
    import torch
    import transformers
    from sentence_transformers import CrossEncoder as Whole

    torch.manual_seed(1)
    model = transformers.AutoModelForSequenceClassification.from_config(config("bert", num_labels=1))
    with torch.no_grad():
        for layer in model.modules():
            if isinstance(layer, torch.nn.Linear):
                layer.weight *= 12  # or every text would be much alike
        model.classifier.bias.fill_(10)
    made = SentenceTransformerCrossEncoder(write(folder, precision, model.to(getattr(torch, precision))), "cpu", 2)
    latents = made.latents("on the mur", TEXTS)
    scores = made.head(latents)
    # By hand: the last two layers and the sigmoid, in float64.
    saved = transformers.AutoModelForSequenceClassification.from_pretrained(made.name, dtype=torch.float64)
    hidden = torch.tanh(saved.bert.pooler.dense(torch.from_numpy(latents).double()))
    logits = saved.classifier(hidden)[:, 0].detach().numpy()
    assert logits.min() > 8.5 and logits.max() < 14
    np.testing.assert_allclose(scores, 1 / (1 + np.exp(-logits)), atol=1e-7)
    assert scores.dtype == np.float32 and scores.max() < 1 and len(set(scores.tolist())) == len(TEXTS)
    assert np.argsort(scores).tolist() == np.argsort(logits).tolist()
    # Where the library rounds a logit to the model's precision, this does not.
    expected = Whole(made.name, device="cpu").predict([("on the mur", text) for text in TEXTS])
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_sparse_model_given_as_dense_is_an_error(folder):
    saved = folder / "sparse"
    saved.mkdir()
    (saved / "modules.json").write_text('[{"type": "sentence_transformers.sparse_encoder.models.SpladePooling"}]')
    with pytest.raises(OptionError, match=r"is a sparse model \(SpladePooling\).*dense model"):
        SentenceTransformerEncoder(str(saved), "cpu").encode(["a"])


def test_contriever_searches_index(encoder):
    """Contriever is a BERT whose states are averaged, compared by the dot product."""
    from sentence_transformers import SentenceTransformer

    snapshot = corpus_index().snapshot
    search = VectorSearch(dense_index(snapshot.graph, encoder)) % 3 >> ToPassages()
    asked = "the mur and salt"
    chunks = [node for node in snapshot.graph.nodes.tolist() if snapshot.graph.columns.kinds[node] == Kind.CHUNK]
    texts = [snapshot.graph.reading(node) for node in chunks]
    expected = SentenceTransformer(encoder.name, device="cpu").encode(texts) @ encoder.encode([asked])[0]
    passages = search(start(asked, snapshot.graph)).passages
    best = sorted(zip((-expected).tolist(), chunks, strict=True))[:3]
    np.testing.assert_allclose(passages.scores, [-score for score, _ in best], rtol=1e-4)
