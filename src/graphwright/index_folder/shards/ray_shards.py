"""Shards held by actors of Ray, one each, which Ray starts again where they die."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from graphwright.engines import EngineError, connected_ray
from graphwright.errors import GraphwrightError
from graphwright.index_folder.index import GivenEncoder
from graphwright.index_folder.shards.columns import ShardLost, Shards
from graphwright.index_folder.shards.holder import Holder, ShardChanged

_REPLY = 5.0  # seconds for a reply to a question's call, after which an actor is asked whether it lives, or is lost
_PAUSE = 0.5  # seconds between two pings
_LIMIT = 60.0  # seconds for a reply of an actor that lives
_START = 60.0  # seconds for all actors to open their shards
_LONG = ("change", "columns", "stored")  # calls that may take as long as they need
_CALLS = 8  # of one actor at a time
_PINGS = "pings"  # threads of an actor that answer while all others are busy


class RayShards(Shards):
    """An actor for each shard, on nodes that reach its folder, or object storage. A local Ray is started if needed."""

    def __init__(self, folders: Sequence[Path], encoder: GivenEncoder, storage: str | None = None) -> None:
        """Start the actors, or share those of this process. Ray is that of RAY_ADDRESS. Raises EngineError.

        `storage`: address of the shards on object storage.
        """
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
        threads = {"max_concurrency": _CALLS, "concurrency_groups": {_PINGS: 1}}
        kind = self._ray.remote(num_cpus=1, max_restarts=-1, scheduling_strategy="SPREAD", **threads)
        for folder in folders:
            try:
                self.holders.append(self._ray.get_actor(str(folder)))
            except ValueError:  # Ray has none of this name
                pushed = None if storage is None else f"{storage}/{folder.name}"
                self._own.append(kind(Holder).options(name=str(folder)).remote(str(folder), encoder, pushed))
                self.holders.append(self._own[-1])
        started = [holder.revision.remote() for holder in self.holders]
        self._ray.wait(started, num_returns=self.count, timeout=_START)

    def call(self, method: str, values: Mapping[int, Sequence[Any]]) -> dict[int, Any]:
        """Call a method of some actors, all at once. Raises the error of one, or ShardLost."""
        asked = {shard: getattr(self.holders[shard], method).remote(*given) for shard, given in values.items()}
        with suppress(self._ray.exceptions.RayError):  # those that fail are told apart below
            replies = self._ray.get(list(asked.values()), timeout=None if method in _LONG else _REPLY)
            return dict(zip(asked, replies, strict=True))
        return {shard: self._result(shard, reply, method in _LONG) for shard, reply in asked.items()}

    def _result(self, shard: int, reply: Any, is_long: bool) -> Any:
        try:
            if not is_long:
                self._await(shard, reply)
            return self._ray.get(reply, timeout=None if is_long else 0)
        except self._ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, ShardChanged):
                raise ShardLost(shard, str(cause)) from None
            if isinstance(cause, GraphwrightError):
                raise cause from None
            if isinstance(error, self._ray.exceptions.RayTaskError):
                raise
            raise ShardLost(shard, type(error).__name__) from None

    def _await(self, shard: int, reply: Any) -> None:
        """Wait for a reply that is late, while its actor lives: it may be busy, or read its files at first."""
        until = time.monotonic() + _LIMIT - _REPLY
        while not self._ray.wait([reply], timeout=_PAUSE)[0] and time.monotonic() < until:
            ping = self.holders[shard].alive.options(concurrency_group=_PINGS).remote()
            self._ray.wait([reply, ping], timeout=_REPLY)
            if not self._ray.wait([ping], timeout=0)[0]:
                return

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
