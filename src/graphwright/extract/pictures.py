"""Descriptions of pictures in documents, by a language model that sees them."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field

from graphwright.errors import ModelError
from graphwright.extract.llm import MeteredCalls
from graphwright.models.protocols import LLM, Usage
from graphwright.prompts.templates import PROMPTS, Prompts, data_line


@dataclass(frozen=True)
class PictureDescriber:
    """A function that describes pictures: `ReadOptions(describe=PictureDescriber(OpenAILLM("qwen2.5vl:7b", url)))`.

    `llm`: a vision model behind an OpenAI-compatible server, maybe inside a BudgetedLLM and a CachedLLM. `usage`: a
    record that its work is added to. `prompts`: of the index. After several calls in a row without a reply, and once a
    budget is exhausted, the model is not called any more.
    """

    llm: LLM
    usage: Usage = field(default_factory=Usage)
    prompts: Prompts = field(default=PROMPTS, repr=False)
    _calls: MeteredCalls = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_calls", MeteredCalls(self.llm, self.usage))

    @property
    def model(self) -> str:
        """Name of the model, without its server and options."""
        return re.split("@http| ", self.llm.id)[0]

    def __call__(self, png: bytes, source: str) -> str:
        """Return what a picture of a file shows. Raises ModelError if the model does not say it."""
        image = f"data:image/png;base64,{base64.b64encode(png).decode()}"
        prompt = self.prompts.messages("picture", source=data_line(source))
        text: str = self._calls.complete("picture", *prompt, images=[image]).strip()
        if not text:
            raise ModelError("the description is empty")
        return text
