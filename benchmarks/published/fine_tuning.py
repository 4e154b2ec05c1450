"""Encoders and cross-encoders fine-tuned on the paths of a graph (the fine-tuned EEMs of LEGO-GraphRAG, section 3.2.2).

The paper leaves the training to its technical report. The loss here is a softmax over the scores of a text that
explains an answer and of texts near it that do not. Labels are those of ReG.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from graphwright.constraints import AtLeast, Between, Checked, MoreThan
from graphwright.errors import DataError, NeedsError, OptionError
from graphwright.files import write_text
from graphwright.graph import Graph
from graphwright.learn.labels import Labels, Progress
from graphwright.models.sentence_transformers import loading, open_encoder
from published.path_groups import PathGroup, path_groups

RECORD = "graphwright.json"
"""The record in the folder of a fine-tuned model: its kind and its training."""
_SCALE = 20.0  # of cosines, as in the training of sentence-transformers


@dataclass(frozen=True)
class TuneSchedule(Checked):
    """The training of an embedding model.

    `negatives`: other texts for each text that explains an answer; `batch`: groups of such texts in a step; `held_out`:
    share of the questions that are left out of the training, to measure the accuracy.
    """

    epochs: Annotated[int, AtLeast(1)] = 1
    negatives: Annotated[int, AtLeast(1)] = 7
    rate: Annotated[float, MoreThan(0)] = 5e-5
    batch: Annotated[int, AtLeast(1)] = 16
    held_out: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.05
    seed: Annotated[int, AtLeast(0)] = 0


def tune(
    graph: Graph,
    labels: Labels,
    kind: str,
    base: str,
    into: Path | str,
    schedule: TuneSchedule | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Fine-tune a model of sentence-transformers on labelled paths and triples, and write it into a folder.

    `kind`: "encoder" or "cross-encoder"; `base`: the model to begin with, by its name on Hugging Face or its folder. A
    base without a head for scores gets a new one as a cross-encoder. Options for models take the folder as
    `sbert:FOLDER`. Returns the record that is written beside the weights: the graph's fingerprint, the labels,
    the ids of the questions learned and held out, the loss of each epoch, and the share of the held-out groups whose
    first text scores best, before the training and after each epoch. Raises OptionError for an unknown kind or a folder
    with other files, NeedsError without sentence-transformers, ModelError where the base cannot be loaded, DataError
    where fewer than two questions have a path to an answer.
    """
    if kind not in KINDS:
        raise OptionError(f"kind is {kind!r}; it must be {' or '.join(KINDS)}.")
    if find_spec("sentence_transformers") is None:
        raise NeedsError('Fine-tuning needs torch and sentence-transformers: pip install "graphwright[sbert]".')
    folder, plan = Path(into), schedule or TuneSchedule()
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / RECORD).exists())):
        raise OptionError(f"{folder} exists and holds no fine-tuned model. Name a new folder.")
    learned, held_out = _split(path_groups(graph, labels, plan.negatives, plan.seed, progress), plan)
    model = KINDS[kind](base, plan.seed)
    accuracy, losses = [model.accuracy(_flat(held_out), plan.batch)], []
    for loss in model.fitted(_flat(learned), plan):
        losses.append(round(loss, 5))
        accuracy.append(model.accuracy(_flat(held_out), plan.batch))
        if progress is not None:
            progress("train", len(losses), plan.epochs)
    model.save(folder)
    record = {
        "kind": kind, "base": base, "checksum": model.checksum(), "graph": graph.columns.checksum,
        "labels": dict(labels.about), "schedule": asdict(plan), "loss": losses, "accuracy": accuracy,
        "learned": _ids(learned), "held_out": _ids(held_out),
    }  # fmt: skip
    write_text(folder / RECORD, json.dumps(record, indent=1) + "\n")
    return record


Groups = Sequence[tuple[PathGroup, ...]]


def _split(groups: Groups, plan: TuneSchedule) -> tuple[Groups, Groups]:
    """Return the groups of the questions to learn, and of those held out, drawn by seed."""
    if len(groups) < 2:
        raise DataError("Only one labelled question has a path to an answer; training needs two, one to measure on.")
    order = np.random.default_rng(plan.seed).permutation(len(groups)).tolist()
    count = max(1, round(plan.held_out * len(groups)))
    return [groups[at] for at in order[count:]], [groups[at] for at in order[:count]]


def _flat(groups: Groups) -> list[PathGroup]:
    return list(chain.from_iterable(groups))


def _ids(groups: Groups) -> list[str]:
    return [of_question[0].id for of_question in groups]


class _Tuned:
    """A model while it is trained: `module` has the weights."""

    module: Any

    def scores(self, groups: Sequence[PathGroup]) -> Any:
        """Return the scores of all texts of the groups, one group after the other, as a tensor."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write the model into a folder."""
        self.module.save_pretrained(str(folder))

    def checksum(self) -> str:
        """Return the checksum of the weights."""
        digest = hashlib.sha256()
        for name, values in sorted(self.module.state_dict().items()):
            digest.update(name.encode())
            digest.update(values.float().cpu().numpy().tobytes())
        return digest.hexdigest()

    def fitted(self, groups: Sequence[PathGroup], plan: TuneSchedule) -> Iterator[float]:
        """Train epoch by epoch, and yield the mean loss of each."""
        import torch

        def loss(part: Sequence[PathGroup]) -> Any:
            return torch.nn.functional.cross_entropy(self._rows(part), torch.zeros(len(part), dtype=torch.long))

        return epoch_losses(self.module, groups, loss, plan)

    def accuracy(self, groups: Sequence[PathGroup], batch: int) -> float:
        """Return the share of groups whose first text scores best."""
        import torch

        self.module.eval()
        right = 0
        with torch.no_grad():
            for begin in range(0, len(groups), batch):
                right += int((self._rows(groups[begin : begin + batch]).argmax(1) == 0).sum())
        return round(right / len(groups), 4)

    def _rows(self, groups: Sequence[PathGroup]) -> Any:
        """Return the scores of each group in a row, filled up with -inf."""
        from torch.nn.utils.rnn import pad_sequence

        parts = self.scores(groups).float().cpu().split([len(group.texts) for group in groups])
        return pad_sequence(list(parts), batch_first=True, padding_value=float("-inf"))


class _Encoder(_Tuned):
    """An encoder; a score is the cosine of question and text."""

    def __init__(self, base: str, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        self.module = open_encoder(base)

    def scores(self, groups: Sequence[PathGroup]) -> Any:
        import torch

        vectors = self._vectors([group.question for group in groups] + [t for group in groups for t in group.texts])
        owner = torch.tensor([at for at, group in enumerate(groups) for _ in group.texts], device=vectors.device)
        return _SCALE * (vectors[owner] * vectors[len(groups) :]).sum(1)

    def _vectors(self, texts: list[str]) -> Any:
        import torch
        from sentence_transformers.util import batch_to_device

        # `tokenize` has another name from version 6 on.
        prepare = self.module.preprocess if hasattr(self.module, "preprocess") else self.module.tokenize
        features = batch_to_device(prepare(texts), self.module.device)
        return torch.nn.functional.normalize(self.module(features)["sentence_embedding"], dim=1)


class _CrossEncoder(_Tuned):
    """A cross-encoder; a score is its logit."""

    def __init__(self, base: str, seed: int) -> None:
        import torch
        from sentence_transformers import CrossEncoder

        torch.manual_seed(seed)
        with loading(base):
            self._whole = CrossEncoder(base, num_labels=1)
        self.module = self._whole.model

    def scores(self, groups: Sequence[PathGroup]) -> Any:
        pairs = [(group.question, text) for group in groups for text in group.texts]
        features = self._whole.tokenizer(
            pairs, padding=True, truncation=True, max_length=self._whole.max_length, return_tensors="pt"
        )
        return self.module(**features.to(self.module.device)).logits[:, 0]

    def save(self, folder: Path) -> None:
        self._whole.save_pretrained(str(folder))


def epoch_losses(
    module: Any, examples: Sequence[PathGroup], loss: Callable[[list[PathGroup]], Any], plan: TuneSchedule
) -> Iterator[float]:
    """Train a module by AdamW; yield the mean loss of each epoch. `loss`: of some examples; `plan`: a schedule."""
    import torch

    optimizer = torch.optim.AdamW([p for p in module.parameters() if p.requires_grad], plan.rate)
    rng = np.random.default_rng(plan.seed)
    for _ in range(plan.epochs):
        module.train()
        order, total = rng.permutation(len(examples)).tolist(), 0.0
        for begin in range(0, len(order), plan.batch):
            part = [examples[at] for at in order[begin : begin + plan.batch]]
            value = loss(part)
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            total += value.item() * len(part)
        yield total / len(examples)


KINDS: dict[str, type[Any]] = {"encoder": _Encoder, "cross-encoder": _CrossEncoder}
"""The kinds of models that can be fine-tuned."""
