"""Shards held by actors of Ray, one each, which Ray starts again where they die."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from graphwright.engines import EngineError, connected_ray
from graphwright.errors import GraphwrightError
from graphwright.index_folder.index import GivenEncoder
from graphwright.index_folder.shards.columns import ShardLost, Shards
from graphwright.index_folder.shards.holder import Holder, ShardChanged

_REPLY = 5.0  # seconds for a reply to a question's call
_START = 60.0  # seconds for all actors to open their shards
_LONG = ("change", "columns", "stored")  # calls that may take as long as they need
_CALLS = 8  # of one actor at a time


class RayShards(Shards):
    """An actor for each shard folder, on nodes that all reach the folders. A local Ray is started if there is none."""

    def __init__(self, folders: Sequence[Path], encoder: GivenEncoder) -> None:
        """Start the actors, or share those of this process. Ray is that of RAY_ADDRESS. Raises EngineError."""
        self.holders: list[Any] = []
        self.count = len(folders)
        cpus = max(os.cpu_count() or 1, self.count)
        self._ray, self._owner = connected_ray(os.environ.get("RAY_ADDRESS"), cpus, "An index at ray://")
        self._pings: dict[int, Any] = {}
        self._pinging = threading.Lock()
        self._own: list[Any] = []
        if (free := int(self._ray.cluster_resources().get("CPU", 0))) < self.count:
            self.close()
            raise EngineError(f"{self.count} shards need a processor each, and Ray has {free}. Add nodes.")
        kind = self._ray.remote(num_cpus=1, max_restarts=-1, max_concurrency=_CALLS, scheduling_strategy="SPREAD")
        for folder in folders:
            try:
                self.holders.append(self._ray.get_actor(str(folder)))
            except ValueError:  # Ray has none of this name
                self._own.append(kind(Holder).options(name=str(folder)).remote(str(folder), encoder))
                self.holders.append(self._own[-1])
        started = [holder.revision.remote() for holder in self.holders]
        self._ray.wait(started, num_returns=self.count, timeout=_START)

    def call(self, method: str, values: Mapping[int, Sequence[Any]]) -> dict[int, Any]:
        """Call a method of some actors, all at once. Raises the error of one, or ShardLost."""
        asked = {shard: getattr(self.holders[shard], method).remote(*given) for shard, given in values.items()}
        with suppress(self._ray.exceptions.RayError):  # those that fail are told apart below
            replies = self._ray.get(list(asked.values()), timeout=None if method in _LONG else _REPLY)
            return dict(zip(asked, replies, strict=True))
        wait = None if method in _LONG else 0.1
        return {shard: self._result(shard, reply, wait) for shard, reply in asked.items()}

    def _result(self, shard: int, reply: Any, seconds: float | None) -> Any:
        try:
            return self._ray.get(reply, timeout=seconds)
        except self._ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, ShardChanged):
                raise ShardLost(shard, str(cause)) from None
            if isinstance(cause, GraphwrightError):
                raise cause from None
            if isinstance(error, self._ray.exceptions.RayTaskError):
                raise
            raise ShardLost(shard, type(error).__name__) from None

    def answers(self, shard: int) -> bool:
        """Return whether a shard that was lost answers again; does not wait."""
        with self._pinging, suppress(self._ray.exceptions.RayError):
            if shard not in self._pings:
                self._pings[shard] = self.holders[shard].revision.remote()
            if self._ray.wait([self._pings[shard]], timeout=0)[0]:
                self._ray.get(self._pings.pop(shard))
                return True
        return False

    def close(self) -> None:
        """End the actors that this has started, and Ray if it was started for them."""
        for holder in self._own:
            with suppress(Exception):
                self._ray.kill(holder)
        if self._owner:
            with suppress(Exception):
                self._ray.shutdown()
