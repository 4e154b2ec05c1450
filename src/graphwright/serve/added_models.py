"""Language models that are added while the server runs, in an SQLite file of its data folder."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from graphwright.errors import OptionError, StoreError
from graphwright.models import LLMSettings
from graphwright.serve.database import Database
from graphwright.serve.logs import log
from graphwright.serve.settings import AnswerModels

_SCHEMA = "CREATE TABLE IF NOT EXISTS models (model TEXT PRIMARY KEY, settings TEXT NOT NULL) STRICT;"


class AddedModels(Database):
    """The models that an admin has added, without keys. `left_out`: names of those that this start cannot use."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "models.sqlite", _SCHEMA)
        self.left_out = set[str]()

    def all(self) -> list[LLMSettings]:
        """Return all added models, the oldest first."""
        rows = self.execute("SELECT settings FROM models ORDER BY rowid")
        return [LLMSettings(**json.loads(settings)) for (settings,) in rows]

    def offer_to(self, models: AnswerModels) -> None:
        """Offer all added models; log those that the server's settings no longer allow."""
        for settings in self.all():
            try:
                models.offer(settings)
            except OptionError as error:
                self.left_out.add(settings.model)
                log.warning("the added model %r is left out: %s", settings.model, error)

    def add(self, settings: LLMSettings, models: AnswerModels) -> None:
        """Offer a model, and keep it. Raises OptionError as `AnswerModels.offer` does."""
        with self.lock:
            offered = models.offer(settings)
            try:
                self.execute("REPLACE INTO models VALUES (?, ?)", offered.model, json.dumps(asdict(offered)))
            except StoreError:
                models.withdraw(offered.model)
                raise
            self.left_out.discard(offered.model)

    def remove(self, model: str, models: AnswerModels) -> None:
        """Delete an added model, and offer it no longer."""
        with self.lock:
            self.execute("DELETE FROM models WHERE model = ?", model)
            if model not in self.left_out:
                models.withdraw(model)
            self.left_out.discard(model)
