"""Readers on tiny models that are written to disk here: of chosen weights, and of random ones against plain Python."""

import importlib.util
import pickle

import numpy as np
import pytest

from graphwright.errors import ModelError, OptionError
from graphwright.models.protocols import PassageText, Reader
from graphwright.models.sentence_transformers.reader import TransformersReader

VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] graz lies on the mur and salt lowers it who a b c . where"
WORDS = VOCABULARY.split()
# Third parties warn of their own affairs.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is not None, reason="the extra is installed")
def test_without_the_extra_one_is_told_how_to_get_it():
    with pytest.raises(OptionError, match=r'pip install "graphwright\[sbert\]"'):
        TransformersReader("deepset/minilm-uncased-squad2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("sentence_transformers")
    return tmp_path_factory.mktemp("readers")


def config(kind, layers):
    import transformers

    sizes = {"hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": layers, "intermediate_size": 32}
    return transformers.AutoConfig.for_model(kind, vocab_size=len(WORDS), pad_token_id=0, **sizes)


def write(folder, name, model):
    """Save a model with a tokenizer of few words, which reads 64 at a time."""
    import transformers

    (folder / "vocab.txt").write_text("\n".join(WORDS))
    inputs = ["input_ids", "attention_mask"]
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=64, model_input_names=inputs)
    for part in (model, tokenizer):
        part.save_pretrained(folder / name)
    return str(folder / name)


@pytest.fixture(scope="module")
def told(folder):
    """A model without a layer: a token's logits are its own, whatever stands around it."""
    import torch
    import transformers

    model = transformers.BertForQuestionAnswering(config("bert", 0))
    begins = {"graz": 6.0, "salt": 5.0, "the": 1.0, "[CLS]": 2.0}
    ends = {"graz": 1.0, "mur": 6.0, "it": 5.0, "[CLS]": 1.0}
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
        embeddings = model.bert.embeddings
        embeddings.word_embeddings.weight[:, : len(WORDS)] = torch.eye(len(WORDS))
        embeddings.LayerNorm.weight.fill_(1)
        # A row of the embeddings, normalised, is `high` in one place and `low` in all others.
        row = torch.nn.functional.layer_norm(torch.eye(32)[0], (32,), eps=model.config.layer_norm_eps)
        for at, values in enumerate((begins, ends)):
            for word, value in values.items():
                model.qa_outputs.weight[at, WORDS.index(word)] = value / (row[0] - row[1])
            model.qa_outputs.bias[at] = -row[1] * model.qa_outputs.weight[at].sum()
    return write(folder, "told", model)


def titled(*texts):
    """Passages of texts whose first line, where another follows, is a title."""
    return [PassageText(*text.split("\n")) if "\n" in text else PassageText("", text) for text in texts]


def quoted(reader, *texts):
    passages = titled(*texts)
    spans = reader.read("where", passages)
    return [(span.passage, passages[span.passage].text[span.start : span.end]) for span in spans]


def test_spans_come_best_first_and_do_not_overlap(told):
    passages = ["Salt lowers it.", "", "and Graz lies on  the Mur. and Graz"]
    reader = TransformersReader(told, "cpu", batch=2, max_spans=5)
    spans = reader.read("where", titled(*passages))
    assert isinstance(reader, Reader) and reader.id == f"transformers:{told}"
    # Begin and end, less 3 for [CLS]: 6 + 6, 5 + 5, 6 + 1, and 1 + 6 lies within the first.
    assert quoted(reader, *passages) == [(2, "Graz lies on  the Mur"), (0, "Salt lowers it"), (2, "Graz")]
    assert [span.score for span in spans] == pytest.approx([9, 7, 4], abs=1e-3)
    assert (spans[0].start, spans[0].end) == (4, 25)
    assert quoted(TransformersReader(told, "cpu"), *passages) == [(2, "Graz lies on  the Mur")]
    assert quoted(TransformersReader(told, "cpu", max_tokens=4, max_spans=2), *passages) == [
        (0, "Salt lowers it"),
        (2, "Graz"),
    ]
    assert reader.read("where", []) == []


def test_there_is_none_where_no_answer_is_ahead_by_the_threshold(told):
    passages = ["who lies on the mur", "who lies"]  # 1 + 6 against 3; 0 against 3
    assert quoted(TransformersReader(told, "cpu", max_spans=9), *passages)[0] == (0, "the mur")
    assert quoted(TransformersReader(told, "cpu"), passages[1]) == []
    assert quoted(TransformersReader(told, "cpu", threshold=2.9), passages[1]) == []
    assert quoted(TransformersReader(told, "cpu", threshold=3.1), passages[1]) == [(0, "who")]
    assert quoted(TransformersReader(told, "cpu", threshold=-4.1), *passages) == []
    assert quoted(TransformersReader(told, "cpu", threshold=-3.9), *passages) == [(0, "the mur")]


def test_a_title_is_read_but_not_quoted(told):
    reader = TransformersReader(told, "cpu")
    assert quoted(reader, "Graz on the mur\nsalt lowers it") == [(0, "salt lowers it")]
    assert quoted(reader, "\nGraz on the mur") == [(0, "Graz on the mur")]
    assert quoted(reader, "Graz on the mur\n") == []


@pytest.mark.parametrize("before", [0, 40, 43, 46, 49, 52, 55, 58, 400])
def test_a_long_passage_is_read_in_windows(told, before):
    passage = "a " * before + "Graz lies on the Mur" + " b c" * 60
    reader = TransformersReader(told, "cpu", batch=3, max_spans=4)
    assert quoted(reader, passage) == [(0, "Graz lies on the Mur")]
    [span] = reader.read("where " * 100, titled(passage))  # a question that leaves no room is cut
    assert span.start == 2 * before and span.score == pytest.approx(9, abs=1e-3)


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "distilbert"])
def test_agrees_with_every_span_tried(folder, kind):
    import torch
    import transformers

    torch.manual_seed(2)
    settings = config("bert" if kind == "distilbert" else kind, 2)
    if kind == "distilbert":
        settings = transformers.DistilBertConfig(vocab_size=len(WORDS), dim=32, n_heads=2, n_layers=2, hidden_dim=32)
    model = transformers.AutoModelForQuestionAnswering.from_config(settings).eval()
    with torch.no_grad():
        model.qa_outputs.weight.mul_(40)
    name = write(folder, kind, model)
    passages = ["graz\nlies on the mur and salt lowers it", "who lowers a b c", "the mur . salt"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(name)
    scored = []
    for at, passage in enumerate(passages):
        tokens = tokenizer("where on it", passage, return_tensors="pt", return_offsets_mapping=True)
        parts, places = tokens.sequence_ids(0), tokens.pop("offset_mapping")[0].tolist()
        with torch.inference_mode():
            made = model(**tokens)
        begins, ends = made.start_logits[0].tolist(), made.end_logits[0].tolist()
        own = [i for i, part in enumerate(parts) if part == 1 and places[i][0] >= (5 if at == 0 else 0)]
        for i in own:
            for j in own:
                if i <= j < i + 3:
                    scored.append((begins[i] + ends[j] - begins[0] - ends[0], at, places[i][0], places[j][1]))
    expected = []
    for score, at, start, end in sorted(scored, reverse=True):
        if score >= -1 and not any(p == at and start < b and a < end for _, p, a, b in expected):
            expected.append((score, at, start, end))
    spans = TransformersReader(name, "cpu", batch=2, threshold=1, max_spans=4, max_tokens=3).read(
        "where on it", titled(*passages)
    )
    assert expected
    starts = [5, 0, 0]  # of the texts, behind their titles
    expected = [(score, at, start - starts[at], end - starts[at]) for score, at, start, end in expected[:4]]
    assert [(s.passage, s.start, s.end) for s in spans] == [(at, start, end) for _, at, start, end in expected]
    np.testing.assert_allclose([s.score for s in spans], [score for score, *_ in expected], atol=1e-4)


def test_it_is_a_small_value(told):
    reader = TransformersReader(told, max_spans=2)
    reader.read("where", titled("graz"))
    assert pickle.loads(pickle.dumps(reader)) == reader == eval(repr(reader)) and len(pickle.dumps(reader)) < 400


def test_what_cannot_be_used_is_named(folder, told):
    import transformers

    with pytest.raises(ModelError, match=r"nowhere.*could not be loaded.*Hugging Face"):
        TransformersReader(str(folder / "nowhere")).read("where", titled("a"))
    headless = write(folder, "headless", transformers.BertModel(config("bert", 1)))
    with pytest.raises(OptionError, match=r"lacks qa_outputs\.bias, qa_outputs\.weight"):
        TransformersReader(headless).read("where", titled("a"))
    for option in ("max_spans", "max_tokens", "window", "batch"):
        with pytest.raises(OptionError, match=f"{option} is 0"):
            TransformersReader(told, **{option: 0})
