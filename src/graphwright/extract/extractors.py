"""Extractors by name: those that need no language model."""

from __future__ import annotations

from collections.abc import Callable

from graphwright.errors import OptionError, meant
from graphwright.extract.detector import MentionExtractor
from graphwright.extract.extraction import Extractor
from graphwright.extract.rules import LexicalExtractor
from graphwright.extract.spacy_extractor import SpacyExtractor
from graphwright.models.embedded.encoder import MiniLM

EXTRACTORS: dict[str, Callable[[], Extractor]] = {"mentions": MentionExtractor, "rules": LexicalExtractor}
"""Name of each extractor, as users give it."""


def extractor_of(given: Extractor | str | None, encoder: object = None) -> Extractor:
    """Return an extractor that is given as it is or by name; by default one that suits the encoder of the index.

    With the embedded encoder that is the mention detector, which costs next to nothing where passages are encoded
    anyway. With any other encoder a second network would have to read them, so the rules take its place.

    >>> extractor_of("rules"), extractor_of(None, MiniLM())
    (LexicalExtractor(), MentionExtractor())
    """
    if given is None:
        return MentionExtractor() if encoder == MiniLM() else LexicalExtractor()
    if not isinstance(given, str):
        return given
    name, _, pipeline = given.partition(":")
    if name == "spacy" and pipeline:
        return SpacyExtractor(pipeline)
    if given not in EXTRACTORS:
        names = [*EXTRACTORS, "spacy:PIPELINE"]
        raise OptionError(f"There is no extractor {given!r}; choose from {', '.join(names)}.{meant(given, names)}")
    return EXTRACTORS[given]()
