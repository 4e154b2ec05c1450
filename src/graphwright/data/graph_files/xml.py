"""Streams of XML elements, whose memory is freed on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, iterparse

from graphwright.data.decoding import open_bytes
from graphwright.data.formats.parsing.xml import local
from graphwright.errors import DataError


def closed_elements(path: Path, root: str, parts: Sequence[str]) -> Iterator[tuple[Element, Sequence[Element]]]:
    """Yield each closed element whose local name is among `parts`, with those around it, and then free its memory.

    `root`: the local name of an element that a file of this format has. Raises DataError, with the line, for a file
    that is no such XML, or is cut short.
    """
    stack, has_root = list[Element](), False
    try:
        with open_bytes(path) as file:
            for event, element in iterparse(file, ("start", "end")):
                if event == "start":
                    has_root = has_root or local(element) == root
                    stack.append(element)
                    continue
                stack.pop()
                if local(element) in parts:
                    yield element, stack
                    if stack and local(stack[-1]) not in parts:
                        del stack[-1][:]
    except (ParseError, OSError, LookupError, ValueError) as error:  # LookupError: unknown encoding
        raise DataError(f"{path} is not {_TITLES[root]} that can be read to its end: {error}.") from error
    if not has_root:
        raise DataError(f"{path} is XML, but not {_TITLES[root]}: it has no element {root}.")


_TITLES = {"graphml": "GraphML", "gexf": "GEXF"}
