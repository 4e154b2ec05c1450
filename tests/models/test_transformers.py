"""A causal language model of transformers, tiny and with drawn weights: what it is held to, and what it replies."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphwright.errors import ModelError
from graphwright.models import TransformersLLM
from graphwright.models.protocols import LLM, Cancellation, Usage

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("sentence_transformers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of some thousand weights, whose tokens are bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    path = tmp_path_factory.mktemp("models") / "tiny"
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate([*letters, "<end>"])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>").save_pretrained(path)
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=257, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=512, eos_token_id=256, bos_token_id=256, pad_token_id=256, initializer_range=0.5,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(path)
    return path


@pytest.fixture
def llm(folder: Path) -> TransformersLLM:
    return TransformersLLM(str(folder), device="cpu", max_tokens=12)


def log_probability(folder: Path, prompt: str, text: str) -> float:
    """The mean log-probability of a text and its end after a prompt, token by token."""
    model = transformers.LlamaForCausalLM.from_pretrained(folder).eval()
    tokens = list(prompt.encode()), [*text.encode(), 256]
    letters = transformers.AutoTokenizer.from_pretrained(folder)
    ids = letters(prompt, add_special_tokens=False).input_ids, letters(text, add_special_tokens=False).input_ids
    assert [len(part) for part in ids] == [len(tokens[0]), len(tokens[1]) - 1]
    whole = torch.tensor([[*ids[0], *ids[1], 256]])
    with torch.no_grad():
        chances = model(whole).logits.log_softmax(-1)[0]
    places = range(len(ids[0]), whole.shape[1])
    return math.fsum(float(chances[place - 1, whole[0, place]]) for place in places) / len(places)


def test_transformers_decodes_most_probable_texts(llm: TransformersLLM, folder: Path) -> None:
    texts = ["".join(letters) for letters in itertools.product("ab", repeat=3)]
    usage = Usage()
    decoded = llm.decode("", "Which?", texts, 8, usage)
    expected = {text: log_probability(folder, "Which?", text) for text in texts}
    # A beam as wide as there are texts loses none of them.
    assert [text for text, _ in decoded] == sorted(texts, key=lambda text: -expected[text])
    assert [score for _, score in decoded] == pytest.approx([expected[text] for text, _ in decoded], abs=1e-4)
    assert (usage.calls, usage.prompt_tokens) == (1, 6) and usage.completion_tokens >= 4


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8), min_size=1, max_size=8), st.integers(1, 4)
)
def test_constrained_model_writes_given_texts_only(llm: TransformersLLM, texts: list[str], k: int) -> None:
    decoded = llm.decode("Write.", "Which?", texts, k, Usage())
    written = [text for text, _ in decoded]
    assert 1 <= len(written) <= k and len(set(written)) == len(written) and set(written) <= set(texts)
    scores = [score for _, score in decoded]
    assert scores == sorted(scores, reverse=True) and all(map(math.isfinite, scores))


def test_transformers_reply_stays_within_limit(llm: TransformersLLM) -> None:
    assert isinstance(llm, LLM)
    completion = llm.complete("Answer.", "Which?")
    assert completion.usage.prompt_tokens == 13 and 0 < len(completion.text.encode("utf-8", "replace")) <= 36
    assert completion == llm.complete("Answer.", "Which?") or completion.text == llm.complete("Answer.", "Which?").text
    with pytest.raises(ModelError), Cancellation() as cancel:
        cancel.set()
        llm.complete("", "Which?", cancel=cancel)


def test_unloadable_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="could not be loaded"):
        TransformersLLM(str(tmp_path / "nothing")).complete("", "Which?")


def test_chat_template_is_used(llm: TransformersLLM, folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(tmp_path)
    tokenizer.chat_template = "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}"
    tokenizer.save_pretrained(tmp_path)
    usage = Usage()
    TransformersLLM(str(tmp_path), device="cpu").decode("S", "U", ["a", "b"], 1, usage)
    assert usage.prompt_tokens == len("system:S;user:U;")
