"""Loading of models from Hugging Face, by name or folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Annotated, TypeVar

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import ModelError, OptionError

__all__ = ["HuggingFaceModel", "load_model"]

T = TypeVar("T")


@dataclass(frozen=True)
class HuggingFaceModel(Checked):
    """A model by its name on Hugging Face or its folder, the device it runs on, and the texts in one batch.

    `device`: "cpu", "cuda" and so on; by default the best there is. Raises OptionError without the extra `sbert`.
    """

    name: str
    device: str | None = None
    batch: Annotated[int, AtLeast(1)] = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if find_spec("sentence_transformers") is None:
            raise OptionError(f'{self!r} needs sentence-transformers. Install it: pip install "graphwright[sbert]"')

    @property
    def id(self) -> str:
        """Name of the model, and of an encoder's vector space."""
        return f"sentence-transformers:{self.name}"


def load_model(name: str, load: Callable[[], T]) -> T:
    """Return the model that `load` returns. Raises ModelError where it fails with anything but OptionError."""
    try:
        return load()
    except OptionError:
        raise
    except Exception as error:  # of many libraries, for a wrong name, no network, or no space
        raise ModelError(
            f"{name} could not be loaded: {error}. Give the name of a model on Hugging Face that can be reached, or "
            f"the folder of a saved one."
        ) from error
