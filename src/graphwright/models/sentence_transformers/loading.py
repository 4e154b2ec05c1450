"""Models from Hugging Face: names and errors of loading."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import ModelError, OptionError, check_installed


@dataclass(frozen=True)
class HuggingFaceModel(Checked):
    """A model by its name on Hugging Face or its folder, the device it runs on, and the texts in one batch.

    `device`: "cpu", "cuda" and so on; by default the best available. Raises OptionError without the extra `sbert`.
    """

    name: str
    device: str | None = None
    batch: Annotated[int, AtLeast(1)] = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        check_installed("sentence_transformers", "sbert", self)

    @property
    def id(self) -> str:
        """Name of the model, and of an encoder's vector space."""
        return f"sentence-transformers:{self.name}"


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Convert all errors inside the block, which loads a model, to ModelError, except OptionError."""
    try:
        yield
    except OptionError:
        raise
    except Exception as error:  # of many libraries, for a wrong name, no network, or no space
        raise ModelError(
            f"{name} could not be loaded: {error}. Give the name of a model on Hugging Face that can be reached, or "
            f"the folder of a saved one."
        ) from error


def sparse_classes(name: str) -> list[str]:
    """Return the sparse classes in the configuration of a saved model; none where it lists no modules."""
    from sentence_transformers.util import load_file_path

    # sentence-transformers adds an organisation to a bare name, which depends on the class that loads the model.
    if "/" not in name and not Path(name).exists():
        return []

    def read(file: str) -> Any:
        path = load_file_path(name, file, token=None, cache_folder=None, revision=None)
        return json.loads(Path(path).read_text("utf-8")) if path else None

    types = [str(module.get("type")) for module in read("modules.json") or []]
    classes = [name.rpartition(".")[2] for name in types if ".sparse_encoder." in name]
    # A model with two encoders, for questions and for passages, lists their modules elsewhere.
    whole = (read("config_sentence_transformers.json") or {}).get("model_type")
    return [whole] if whole == "SparseEncoder" and not classes else classes
