"""What a run was: enough to repeat it, and to refuse to go on with another one in its place."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import graphwright
from graphwright.errors import DataError, OptionError
from graphwright.evaluate.experiment import Experiment, Subject
from graphwright.files import whole_lines, write_text
from graphwright.models.protocols import LLM

__all__ = ["described", "resumed", "write_json"]

_OF_THE_OCCASION = ("machine", "started", "continued", "baseline", "index", "commit")
_OF_THE_INDEX = ("nodes", "edges")  # not known before there is one
_LIBRARIES = ("numba", "numpy", "onnxruntime", "tokenizers")


def described(experiment: Experiment, subject: Subject, encoder: str, llm: LLM | None = None) -> dict[str, Any]:
    """Return what a run of the experiment is; the methods' expressions are not known before the index is."""
    return {
        "graphwright": graphwright.__version__,
        "methods": dict.fromkeys((entry.name for entry in experiment.entries()), ""),
        "settings": {
            "extraction": experiment.extraction,
            "titles": experiment.titles,
            "embed": None if experiment.embed is None else list(experiment.embed),
            "limit": experiment.limit,
            "seed": experiment.seed,
            "questions": str(experiment.questions),
            "answered": subject.answered,
            "linked": experiment.linked,
            "metrics": [measure.name for measure in subject.measures],
        },
        "data": {
            "name": subject.name,
            "documents": len(subject.documents),
            "triples": len(subject.triples),
            "over": subject.over,
            "graph": "",
            "questions": len(subject.questions),
            "unjudged questions left out": subject.unjudged,
            "rows that could not be read": len(subject.skipped),
            "remarks": list(subject.remarks),
            "sha256": dict(subject.checksums),
        },
        "encoder": encoder,
        "llm": None if llm is None else llm.id,
        "extractor": subject.extractor.id,
        "baseline": experiment.against(),
        "index": {},
        "machine": {
            "processors": os.cpu_count(),
            "platform": platform.platform(),
            "python": platform.python_version(),
            **_versions(),
        },
        "commit": _commit(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "continued": [],
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):  # a variant under another name, such as onnxruntime-gpu
            found[name] = version(name)
    return found


def _commit() -> str:
    """Return the commit that the package is of, with a + where files differ from it; empty outside of a repository."""
    here = Path(graphwright.__file__).resolve().parent
    try:
        said = [
            subprocess.run(["git", "-C", str(here), *asked], capture_output=True, text=True, timeout=10, check=True)
            for asked in (("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no", "."))
        ]
    except (OSError, subprocess.SubprocessError):
        return ""
    return said[0].stdout.strip() + ("+" if said[1].stdout.strip() else "")


def resumed(out: Path, run: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the manifest of the run in a folder, None where there is none yet.

    Methods may have come, and as long as there are no results others may take their place. Raises OptionError if it is
    another run than `run`, or if the folder holds something else: its results would be mixed or lost.
    """
    path = out / "manifest.json"
    if not path.exists():
        if out.exists() and (not out.is_dir() or any(not _begun(one) for one in out.iterdir())):
            raise OptionError(f"{out} is not empty and holds no run; give a new or empty folder.")
        return None
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        there = _identity(found)
        if not whole_lines(out / "results.jsonl"):
            there["methods"] = {}
        differing = _differing(there, _identity(run))
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{path} cannot be read ({error}); give a new folder, or remove this one.") from error
    if differing:
        name, there, here = differing
        raise OptionError(
            f"{out} holds another run: there {name or 'the manifest'} is {_short(there)}, and here "
            f"{_short(here)}. Give another folder, or repeat that run as it was."
        )
    return found


def _begun(path: Path) -> bool:
    """Whether a run has this before it has a manifest: its lock, and the draft of the manifest."""
    return path.name.startswith(("writer.lock", ".manifest.json."))


def _differing(there: Any, here: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """Return the first thing in which two manifests differ, and both values; None where they agree.

    Here there may be methods that are not there: a run takes them up.
    """
    if not isinstance(there, Mapping) or not isinstance(here, Mapping):
        # An expression that is not known yet agrees with any.
        return None if there == here or "" in (there, here) else (name, there, here)
    if there.keys() - here.keys() or (there.keys() != here.keys() and name != "methods"):
        return name, ", ".join(there), ", ".join(here)
    parts = (_differing(there[part], here[part], f"{name} {part}".strip()) for part in there)
    return next((found for found in parts if found is not None), None)


def _identity(manifest: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in manifest.items() if name not in _OF_THE_OCCASION}
    return found | {"data": {name: value for name, value in manifest["data"].items() if name not in _OF_THE_INDEX}}


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:60]} … {text[-40:]}"


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a value, whole or not at all."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")
