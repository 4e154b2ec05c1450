"""Models made of other models and of plain functions."""

import numpy as np
import pytest
from pydantic import BaseModel

from graphwright.errors import LLMResponseError, ModelError
from graphwright.models.functions import FunctionCrossEncoder, FunctionEncoder, FunctionLLM, FunctionReader
from graphwright.models.protocols import LLM, CrossEncoder, NamedEncoder, PassageText, Reader, Span


class Place(BaseModel):
    name: str


@pytest.mark.parametrize(
    "function",
    [lambda prompt: prompt, lambda system, user: f"{system}\n\n{user}", lambda *prompts: "\n\n".join(prompts)],
)
def test_a_function_of_one_or_two_prompts_is_a_language_model(function):
    pieces = []
    llm = FunctionLLM(function)
    completion = llm.complete("Be short.", "Where?", on_text=pieces.append)
    assert isinstance(llm, LLM) and "lambda" in llm.id
    assert completion.text == "Be short.\n\nWhere?" == "".join(pieces)
    assert (completion.usage.calls, completion.usage.prompt_tokens) == (1, 5)


def test_a_function_is_shown_the_schema_and_its_reply_is_parsed_and_corrected_once():
    prompts = []

    def reply(prompt):
        prompts.append(prompt)
        return 'It is {"name": "Graz"}.' if "Reply with the corrected" in prompt else "Graz"

    assert FunctionLLM(reply).complete("", "Where?", schema=Place).value == Place(name="Graz")
    assert len(prompts) == 2 and '"name"' in prompts[0]
    with pytest.raises(LLMResponseError) as caught:
        FunctionLLM(lambda prompt: "Graz").complete("", "Where?", schema=Place)
    assert caught.value.text == "Graz" and caught.value.usage.calls == 2


def test_a_function_that_returns_no_text_is_named():
    with pytest.raises(ModelError, match="returned NoneType None; it must return a text"):
        FunctionLLM(lambda prompt: None).complete("", "Where?")


def test_a_function_is_an_encoder():
    encoder = FunctionEncoder(lambda texts: [[len(text), 1.0] for text in texts])
    assert isinstance(encoder, NamedEncoder)
    assert encoder.encode(["a", "fox"]).dtype == np.float32 and len(encoder.encode([])) == 0
    with pytest.raises(ModelError, match=r"shape \(1,\) for 1 texts; return one vector each"):
        FunctionEncoder(lambda texts: [1.0]).encode(["a"])


def test_a_function_is_a_cross_encoder():
    model = FunctionCrossEncoder(lambda query, texts: [text.count(query) for text in texts])
    assert isinstance(model, CrossEncoder)
    assert model.head(model.latents("a", ["aa", "b"])).tolist() == [2, 0]
    assert model.head(model.latents("a", [])).shape == (0,)
    with pytest.raises(ModelError, match=r"shape \(0,\) for 1 texts; return one score each"):
        FunctionCrossEncoder(lambda query, texts: []).latents("a", ["b"])


def test_a_function_is_a_reader():
    passages = [PassageText("Graz", "On the Mur."), PassageText("", "x")]
    reader = FunctionReader(lambda question, passages: [Span(0, 7, 10, 0.5)])
    assert isinstance(reader, Reader)
    assert reader.read("Where?", passages) == [Span(0, 7, 10, 0.5)] and reader.read("Where?", []) == []
    for wrong in ([Span(2, 0, 1, 1.0)], ["Mur"]):
        with pytest.raises(ModelError, match="must return spans of the passages"):
            FunctionReader(lambda question, passages, wrong=wrong: wrong).read("Where?", passages)
