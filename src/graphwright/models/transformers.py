"""Language models from Hugging Face in this process, which can be constrained to given texts token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Annotated, Any, NamedTuple

from graphwright.constraints import AtLeast
from graphwright.models.constrained import Decoded, TokenTrie
from graphwright.models.protocols import Cancel, Cancellation, Completion, OnText, Schema, Usage
from graphwright.models.sentence_transformers.loading import HuggingFaceModel, loading
from graphwright.models.structured import complete_by, schema_prompt


@dataclass(frozen=True)
class TransformersLLM(HuggingFaceModel):
    """Any causal language model that transformers can load, by its name on Hugging Face or its folder.

    `decode` writes the most probable of given texts by a beam search that allows only tokens of their trie, as GCR does
    with a model fine-tuned for it. `complete` writes a reply of at most `max_tokens`, greedily; a schema is described
    in the prompt. Prompts go through the chat template of the model, if it has one. `batch` is not used. The model is
    loaded at the first use, and answers one thread at a time. Needs the extra `sbert`.
    """

    max_tokens: Annotated[int, AtLeast(1)] = 2048

    @property
    def id(self) -> str:
        """Name of the model and of the options that change its replies."""
        return f"transformers:{self.name} max_tokens={self.max_tokens}"

    def complete(
        self, system: str, user: str, *, schema: Schema = None, on_text: OnText = None, cancel: Cancel = None
    ) -> Completion:
        """Answer one prompt, as LLM.complete does."""
        model = _load(self.name, self.device)
        if schema is not None:
            system = "\n\n".join(filter(None, (system, schema_prompt(schema))))

        def reply(system: str, user: str) -> str:
            prompt = model.prompt(system, user)
            with model.lock:
                (tokens,) = model.generate(prompt, max_new_tokens=self.max_tokens).sequences.tolist()
            return str(model.tokenizer.decode(tokens[prompt.shape[1] :], skip_special_tokens=True))

        return complete_by(reply, system, user, self.id, model.count, schema, on_text, cancel)

    def decode(
        self, system: str, user: str, texts: Sequence[str], k: int, usage: Usage, cancel: Cancel = None
    ) -> list[Decoded]:
        """Return the k of the texts that the beam search finds most probable; a score is its mean log-probability."""
        (cancel or Cancellation()).check()
        model = _load(self.name, self.device)
        text_of = {(*model.tokens(text), model.end): text for text in dict.fromkeys(texts)}
        prompt, trie = model.prompt(system, user), TokenTrie(text_of)
        start = prompt.shape[1]

        def allowed(batch: int, tokens: Any) -> list[int]:
            return trie.following(tokens[start:].tolist()) or [model.end]

        with model.lock:
            output = model.generate(
                prompt,
                max_new_tokens=max(map(len, text_of)),
                num_beams=max(2, min(k, len(text_of))),
                num_return_sequences=min(k, len(text_of)),
                prefix_allowed_tokens_fn=allowed,
            )
        usage.add(Usage(calls=1, prompt_tokens=start, completion_tokens=output.sequences.shape[1] - start))
        scores: dict[str, float] = {}
        for tokens, score in zip(output.sequences[:, start:].tolist(), output.sequences_scores.tolist(), strict=True):
            # Padding follows the end of a sequence.
            text = text_of.get(tuple(tokens[: tokens.index(model.end) + 1]) if model.end in tokens else ())
            if text is not None:
                scores[text] = max(score, scores.get(text, score))
        ranked = sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))
        return [Decoded(text, score) for text, score in ranked]


class _Loaded(NamedTuple):
    """A loaded model with its tokenizer; `end`: the token that ends a text; `lock`: for one use at a time."""

    model: Any
    tokenizer: Any
    end: int
    lock: Any

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, without special ones."""
        tokens: list[int] = self.tokenizer(text, add_special_tokens=False).input_ids
        return tokens

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.tokens(text))

    def prompt(self, system: str, user: str) -> Any:
        """Return the tokens of a prompt as a batch of one."""
        if self.tokenizer.chat_template is None:
            text, special = "\n\n".join(filter(None, (system, user))), True
        else:
            messages = [{"role": role, "content": text} for role, text in (("system", system), ("user", user)) if text]
            text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            special = False
        encoded = self.tokenizer(text, return_tensors="pt", add_special_tokens=special)
        return encoded.input_ids.to(self.model.device)

    def generate(self, prompt: Any, **options: Any) -> Any:
        """Return the output of a generation without sampling."""
        return self.model.generate(
            prompt,
            attention_mask=prompt.new_ones(prompt.shape),
            do_sample=False,
            eos_token_id=self.end,
            pad_token_id=self.end,
            return_dict_in_generate=True,
            output_scores=True,
            **options,
        )


@lru_cache(maxsize=2)
def _load(name: str, device: str | None) -> _Loaded:
    with loading(name):
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModelForCausalLM.from_pretrained(name).eval()
        model = model if device is None else model.to(device)
    end = tokenizer.eos_token_id if tokenizer.eos_token_id is not None else model.config.eos_token_id
    return _Loaded(model, tokenizer, int(end), Lock())
