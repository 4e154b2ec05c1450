"""The objects of a bucket as a source of documents; one whose ETag is still the same is not fetched again."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from graphwright.data.connectors import Fetched, SourceFile
from graphwright.data.document import Skipped
from graphwright.data.formats.format import MAX_BYTES, File
from graphwright.remote.bucket import Bucket


class BucketFiles:
    """The objects below an address of object storage, such as `s3://bucket/reports`; hidden ones are left out."""

    def __init__(self, address: str) -> None:
        self._bucket = Bucket.open(address)
        self.address = self._bucket.url

    def list(self) -> list[SourceFile]:
        """Return the objects. Raises StoreError if the bucket cannot be listed."""
        shown = (item for item in self._bucket.list() if not re.search(r"(^|/)\.|/$", item.path))
        return sorted(SourceFile(f"{self.address}/{item.path}", item.tag) for item in shown)

    def fetch(self, name: str, tag: str) -> Fetched | Skipped:
        """Fetch an object."""
        path = name.removeprefix(f"{self.address}/")
        try:
            return Fetched(File(PurePosixPath(path).name, content=self._bucket.read(path, MAX_BYTES)[0]))
        except KeyError:
            return Skipped(name, "it was deleted meanwhile")
