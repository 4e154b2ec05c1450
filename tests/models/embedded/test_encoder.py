"""The embedded encoder against vectors of the float32 graph, which `scripts/build_encoder.py` wrote."""

import copy
import hashlib
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright.errors import ModelError, OptionError
from graphwright.models.embedded import encoder as module
from graphwright.models.embedded import encoder as runtime
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.protocols import Encoder, Usage

FIXTURES = Path(__file__).parents[1] / "fixtures"
SENTENCES = (FIXTURES / "sentences.txt").read_text("utf-8").splitlines()
# Scales are fixed, so batches differ only in the order of float sums, and then in a rare int8 step.
SAME = 0.9995


def cosines(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def test_encoder_equals_float32_graph():
    expected = np.load(FIXTURES / "sentences_float32.npy")
    result = cosines(MiniLM().encode(SENTENCES), expected)
    assert result.mean() >= 0.995
    assert result.min() >= 0.985


def test_vectors_are_unit_float32():
    vectors = MiniLM().encode(SENTENCES)
    assert isinstance(MiniLM(), Encoder)
    assert vectors.dtype == np.float32 and vectors.shape == (len(SENTENCES), MiniLM().dimension)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_encoder_without_texts_returns_no_rows():
    assert MiniLM().encode([]).shape == (0, 384)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=12))
def test_encoder_keeps_text_order(texts):
    alone = {text: MiniLM().encode([text])[0] for text in set(texts)}
    assert cosines(MiniLM().encode(texts), np.array([alone[text] for text in texts])).min() >= SAME


def test_text_is_nearest_to_itself_in_any_batch():
    alone = np.concatenate([MiniLM().encode([text]) for text in SENTENCES])
    together = MiniLM().encode(SENTENCES * 3)
    assert (np.argmax(together @ alone.T, axis=1) == np.tile(np.arange(len(SENTENCES)), 3)).all()


def test_encoder_repeats_bits():
    assert (MiniLM().encode(SENTENCES) == MiniLM().encode(SENTENCES)).all()


@pytest.mark.parametrize("text", ["", " \n", "\x00", "\ud800 alone", "é" * 9, "🙂", "x" * 5000, "[PAD] [CLS]"])
def test_any_string_has_vector(text):
    vector = MiniLM().encode([text])[0]
    assert np.isfinite(vector).all() and np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_long_text_is_cut_at_max_tokens():
    start = "graph " * 254
    whole, cut = MiniLM().encode([start + "salt water " * 3000]), MiniLM().encode([start])
    assert (whole == cut).all()
    assert not (MiniLM(max_tokens=300).encode([start + "salt water " * 3000]) == cut).all()


@pytest.mark.parametrize("count", [0, 1, 40])
def test_parallel_encoding_keeps_order(count):
    squares = runtime.side_by_side(lambda number: number**2, range(count))
    assert list(squares) == [(number, number**2) for number in range(count)]


def test_encoder_usage_counts_every_text():
    usage = Usage()
    MiniLM().encode(SENTENCES, usage)
    assert usage.texts == len(SENTENCES) and 0 < usage.calls <= usage.texts
    assert usage.tokens == sum(MiniLM().count_tokens(SENTENCES)) + 2 * len(SENTENCES)
    assert usage.seconds > 0


def test_tokens_are_counted_in_any_text():
    text = "Émile Zola, 1898: J'accuse \ud800 東京"
    [(ids, spans)] = module.token_ids([text], 256, spans=True)
    assert [text[start:end] for start, end in spans[:4]] == ["Émile", "Z", "ola", ","]
    assert MiniLM().count_tokens([text]) == [len(spans)] == [len(ids) - 2]
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_encoder_is_thread_safe():
    encoder = MiniLM()
    with ThreadPoolExecutor(4) as pool:
        result = list(pool.map(lambda text: encoder.encode([text])[0], SENTENCES))
    assert cosines(np.array(result), encoder.encode(SENTENCES)).min() >= SAME


def test_encoder_is_equal_and_pickled_by_options():
    encoder = MiniLM()
    assert repr(encoder) == "MiniLM()" and eval(repr(MiniLM(max_tokens=64))) == MiniLM(max_tokens=64)
    assert pickle.loads(pickle.dumps(encoder)) == encoder == copy.deepcopy(encoder)
    assert len(pickle.dumps(encoder)) < 200
    assert MiniLM(max_tokens=64).id != encoder.id == MiniLM().id


def test_encoder_gives_same_bits_in_other_process():
    code = "from graphwright.models import MiniLM; print(MiniLM().encode(['Salt lowers it.']).tobytes().hex())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert bytes.fromhex(done.stdout.strip()) == MiniLM().encode(["Salt lowers it."]).tobytes()


def test_onnxruntime_telemetry_is_off(tmp_path):
    code = "from graphwright.models import MiniLM; MiniLM().encode(['a text'])"
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    subprocess.run([sys.executable, "-c", code], env={**variables, "HOME": str(tmp_path)}, check=True)
    assert not list(tmp_path.rglob("*"))


def test_telemetry_setting_of_user_is_kept(monkeypatch):
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    runtime.import_runtime()
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "0"
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY")
    runtime.import_runtime()
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"


def test_encoder_checksum_matches_weights():
    file = runtime.weights_file("model.onnx", "all-minilm-l6-v2")
    recorded = runtime.checksum("all-minilm-l6-v2")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == recorded
    assert recorded in (file.parents[1] / "NOTICE.md").read_text("utf-8")


def test_exact_kernel_for_old_processors_agrees():
    expected = np.load(FIXTURES / "sentences_float32.npy")
    file = runtime.weights_file("model.onnx", "all-minilm-l6-v2")
    graph = runtime.open_graph(file, exact=True)
    for text, vector in zip(SENTENCES[::8], expected[::8], strict=True):
        ids = [ids for ids, _ in module.token_ids([text], 256)]
        assert cosines(module.run_graph(graph, ids)[0], vector[None])[0] >= 0.985


def test_missing_or_broken_encoder_weights_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(runtime, "WEIGHTS", tmp_path)
    with pytest.raises(ModelError, match=r"model\.onnx is missing.*build_encoder"):
        module._load_session.__wrapped__()
    folder = tmp_path / "all-minilm-l6-v2"
    folder.mkdir(parents=True)
    for name in ("probe.onnx", "tokenizer.json", "model.json"):
        (folder / name).write_text("nonsense")
    for load, *model in ((runtime._saturates,), (module._load_tokenizer,), (runtime.checksum, folder.name)):
        with pytest.raises(ModelError, match=str(folder)):
            load.__wrapped__(*model)


@pytest.mark.parametrize("length", [2, 513])
def test_impossible_lengths_raise(length):
    with pytest.raises(OptionError, match=f"max_tokens is {length}"):
        MiniLM(max_tokens=length)


def test_single_string_raises():
    with pytest.raises(OptionError, match="sequence of texts"):
        MiniLM().encode("one text")
