"""The record that a fine-tuned model has in its folder: what kind of model it is, and what it was trained on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graphwright.errors import DataError, OptionError

RECORD = "graphwright.json"


def tuned_record(name: str) -> dict[str, Any] | None:
    """Return the record of a model's folder, None for a model without one. Raises DataError where it is damaged."""
    file = Path(name) / RECORD
    if not file.is_file():
        return None
    try:
        record = json.loads(file.read_text("utf-8"))
        if not isinstance(record, dict) or not all(isinstance(record[key], str) for key in ("kind", "checksum")):
            raise ValueError("kind and checksum are missing")
    except (OSError, ValueError, KeyError, RecursionError) as error:
        raise DataError(f"{file} is not the record of a fine-tuned model: {error!r}. Train the model again.") from None
    return record


def check_kind(name: str, kind: str) -> None:
    """Raise OptionError for the folder of a fine-tuned model of another kind: "encoder" or "cross-encoder"."""
    record = tuned_record(name)
    if record is not None and record["kind"] != kind:
        raise OptionError(
            f"{name} holds a fine-tuned {record['kind']}, but is given as the {kind}. Train one with "
            f"graphwright train {kind}, or give it as the {record['kind']}."
        )
