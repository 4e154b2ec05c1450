"""A planner of relation paths: a causal language model fine-tuned by LoRA (ReG@Path, and RoG's planner)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from graphwright.constraints import AtLeast, Checked, MoreThan
from graphwright.errors import DataError, NeedsError
from graphwright.files import write_text
from graphwright.graph import Evidence, Graph
from graphwright.graph.evidence import Scores
from graphwright.graph.relation_paths import relation_words, ways_of
from graphwright.learn.labels import Labels
from graphwright.learn.training import epoch_losses
from graphwright.operators import Instances, Operator, RelationPaths, Rerank, Run, ScoreFunction, Scorer, State

if TYPE_CHECKING:
    from graphwright.learn.labels import Progress

_ABOUT = "planner.json"
_IGNORED = -100  # the label of tokens that are not learned, in transformers


@dataclass(frozen=True)
class LoraSchedule(Checked):
    """The training of a planner by LoRA of this `rank` in all linear layers; eight epochs, as in the paper."""

    epochs: Annotated[int, AtLeast(1)] = 8
    rank: Annotated[int, AtLeast(1)] = 8
    rate: Annotated[float, MoreThan(0)] = 2e-4
    batch: Annotated[int, AtLeast(1)] = 8
    seed: Annotated[int, AtLeast(0)] = 0


@dataclass(frozen=True, repr=False)
class Planner(Scorer):
    """Score relation paths by the log-likelihood of their words and of the end, given the question (ReG, Eq. 35).

    `folder`: the output of `train_planner`; the base model is loaded from the same place as in training. Every relation
    path of the graph is scored, so that only existing paths are planned; the paper generates relation paths by beam
    search and looks them up. `batch`: paths scored at a time. Needs the extra `train-llm`.
    """

    folder: str
    batch: Annotated[int, AtLeast(1)] = 32

    def search(self, k: int, length: int = 3, width: int = 20, pool: int = 1000) -> Operator:
        """Return an operator that retrieves the k best walks by the `width` best of `pool` relation paths."""
        return RelationPaths(length) % pool >> Rerank(self) % width >> Instances(returning=True) % k

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        """Return the log-likelihood of each item's relation path; each path is scored once."""
        graph, prompt, known = state.graph, _prompt(state.question.text), dict[str, float]()

        def scores(items: Evidence) -> Scores:
            texts = [relation_words(graph, ways_of(graph, item)) for item in items.items()]
            new = [text for text in dict.fromkeys(texts) if text not in known]
            run.usage.texts += len(new)
            for begin in range(0, len(new), self.batch):
                part = new[begin : begin + self.batch]
                known.update(zip(part, _log_likelihoods(self.folder, prompt, part), strict=True))
            return np.array([known[text] for text in texts])

        return scores


def is_planner(path: Path | str) -> bool:
    """Return whether a folder holds a planner."""
    return (Path(path) / _ABOUT).is_file()


def train_planner(
    graph: Graph,
    labels: Labels,
    base: str,
    into: Path | str,
    schedule: LoraSchedule | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Fine-tune a causal language model on labelled relation paths, and write its adapter into a folder (Eq. 35).

    `base`: a folder with a model of `transformers`, or its name. The loss is the negative log-likelihood of the words
    of a relation path and of the end, given the question; words of the question do not count. Returns the record that
    is written beside the adapter: base, questions, schedule and the mean loss of each epoch. Raises NeedsError without
    the extra `train-llm`, and DataError where no label has a path.
    """
    torch, transformers, peft = _libraries()
    plan = schedule or LoraSchedule()
    pairs = ((row.example.text, path.candidate.ways) for row in labels.rows for path in row.paths)
    texts = [(_prompt(question), relation_words(graph, ways)) for question, ways in pairs]
    if not texts:
        raise DataError("No label has a path from an entity of its question, so there is nothing to learn.")
    torch.manual_seed(plan.seed)
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    config = peft.LoraConfig(r=plan.rank, lora_alpha=2 * plan.rank, target_modules="all-linear", task_type="CAUSAL_LM")
    model = peft.get_peft_model(transformers.AutoModelForCausalLM.from_pretrained(base), config)
    losses = []
    for loss in epoch_losses(model, texts, lambda part: -_likelihoods(model, tokenizer, part).mean(), plan):
        losses.append(round(loss, 5))
        if progress is not None:
            progress("train", len(losses), plan.epochs)
    model.save_pretrained(str(into))
    tokenizer.save_pretrained(str(into))
    about = {"base": base, "questions": len(labels.rows), "labels": dict(labels.about), "schedule": asdict(plan)}
    about |= {"loss": losses}
    write_text(Path(into) / _ABOUT, json.dumps(about, indent=1) + "\n")
    return about


def _prompt(question: str) -> str:
    return f"Question: {question}\nRelation path: "


def _encoded(tokenizer: Any, texts: Sequence[tuple[str, str]]) -> tuple[Any, Any, Any]:
    """Return tokens, the mask of the padding, and labels: the path and the end, without the prompt."""
    torch = _libraries()[0]
    rows = []
    for prompt, path in texts:
        prompt_ids = tokenizer.encode(prompt, add_special_tokens=False)
        path_ids = [*tokenizer.encode(path, add_special_tokens=False), tokenizer.eos_token_id]
        rows.append((prompt_ids + path_ids, [_IGNORED] * len(prompt_ids) + path_ids))
    longest = max(len(tokens) for tokens, _ in rows)
    ids, mask, labels = (torch.full((len(rows), longest), value) for value in (0, 0, _IGNORED))
    for at, (tokens, targets) in enumerate(rows):
        ids[at, : len(tokens)] = torch.tensor(tokens)
        mask[at, : len(tokens)] = 1
        labels[at, : len(tokens)] = torch.tensor(targets)
    return ids, mask, labels


def _likelihoods(model: Any, tokenizer: Any, texts: Sequence[tuple[str, str]]) -> Any:
    """Return log p(path, end | prompt) of each pair, as a tensor."""
    torch = _libraries()[0]
    ids, mask, labels = _encoded(tokenizer, texts)
    # A token is predicted by the logits at the one before it.
    values = torch.log_softmax(model(input_ids=ids, attention_mask=mask).logits[:, :-1].float(), 2)
    targets = labels[:, 1:]
    taken = values.gather(2, targets.clip(min=0)[:, :, None])[:, :, 0]
    return (taken * (targets != _IGNORED)).sum(1)


def _log_likelihoods(folder: str, prompt: str, paths: Sequence[str]) -> list[float]:
    torch, (model, tokenizer) = _libraries()[0], _loaded(folder)
    with torch.no_grad():
        values: list[float] = _likelihoods(model, tokenizer, [(prompt, path) for path in paths]).tolist()
    return values


@lru_cache(maxsize=2)
def _loaded(folder: str) -> tuple[Any, Any]:
    """Return the model with its adapter, and its tokenizer. Raises DataError for a folder without a planner."""
    _, transformers, peft = _libraries()
    if not is_planner(folder):
        raise DataError(f"{folder} holds no planner. Make one with graphwright train planner.")
    model = peft.AutoPeftModelForCausalLM.from_pretrained(folder).eval()
    return model, transformers.AutoTokenizer.from_pretrained(folder)


def _libraries() -> tuple[Any, Any, Any]:
    """Return torch, transformers and peft. Raises NeedsError without them."""
    missing = [name for name in ("torch", "transformers", "peft") if find_spec(name) is None]
    if missing:
        raise NeedsError(
            f'A planner needs {", ".join(missing)}. Install it: pip install "graphwright[train-llm]", or in a clone '
            'pip install -e ".[train-llm]".'
        )
    import peft
    import torch
    import transformers

    return torch, transformers, peft
