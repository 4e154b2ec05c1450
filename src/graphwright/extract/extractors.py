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


def extractor_of(extractor: Extractor | str | None, encoder: object = None) -> Extractor:
    """Return an extractor by name, or the given one; by default the one that suits the encoder of the index.

    With the embedded encoder that is the mention detector, which costs almost nothing where passages are encoded
    anyway. With any other encoder a second network would have to read them, so the default is the rules.

    >>> extractor_of("rules"), extractor_of(None, MiniLM())
    (LexicalExtractor(), MentionExtractor())
    """
    if extractor is None:
        return MentionExtractor() if encoder == MiniLM() else LexicalExtractor()
    if not isinstance(extractor, str):
        return extractor
    name, _, pipeline = extractor.partition(":")
    if name == "spacy" and pipeline:
        return SpacyExtractor(pipeline)
    if extractor not in EXTRACTORS:
        names = [*EXTRACTORS, "spacy:PIPELINE"]
        raise OptionError(
            f"There is no extractor {extractor!r}; choose from {', '.join(names)}.{meant(extractor, names)}"
        )
    return EXTRACTORS[extractor]()
