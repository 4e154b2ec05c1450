"""Refinement of the merged graph by a language model: summaries of descriptions, decisions about names."""

from __future__ import annotations

from collections.abc import Sequence

from graphwright.build.operation import Operation
from graphwright.build.publication import Publication
from graphwright.extract.derived import Refiner, Task
from graphwright.extract.extraction import ExtractionFailure

_TASKS = 64  # derived between two commits


def refine(operation: Operation, publication: Publication) -> None:
    """Derive the model's additions to the merged graph, until nothing is missing or calls fail; publish them.

    A value may need others before it: a summary of summaries, a description of names that were merged.
    """
    refiner = getattr(operation.extractor, "refiner", None)
    if refiner is None or operation.store.setting("missing values") in (None, "0"):
        return
    derived = publication.missing_values()
    while derived.missing and _derive(operation, refiner, list(derived.missing.values())):
        publication.refresh()
        derived = publication.missing_values()


def _derive(operation: Operation, refiner: Refiner, tasks: Sequence[Task]) -> bool:
    """Derive values, each batch stored as soon as it is done; return whether any was derived."""
    changes, store = operation.changes, operation.store
    before, done, final = changes.refined, 0, False
    changes.unrefined = []
    while done < len(tasks) and not final:
        operation.report("refine", done, len(tasks))
        batch = tasks[done : done + _TASKS]
        results = dict(zip((task.key for task in batch), refiner.answers(batch, changes.usage), strict=True))
        values = {key: value for key, value in results.items() if isinstance(value, str)}
        failures = [value for value in results.values() if isinstance(value, ExtractionFailure)]
        if values:
            with store.writing():
                store.put_derived(values)
                store.set("revision", str(store.revision + 1))
        changes.refined += len(values)
        changes.unrefined += [failure.reason for failure in failures]
        done += len(batch)
        final = any(failure.final for failure in failures)
    operation.report("refine", done, len(tasks))
    return changes.refined > before
