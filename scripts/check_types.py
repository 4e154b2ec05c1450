"""Print how often names get the right type of a schema offline, over CrossNER and Re-DocRED.

    python scripts/check_types.py DATA [--texts N]

DATA holds `ner_crossner` and `re_redocred`. The texts are read by the mention detector with a schema of the set's
labels, or of person, organisation and place, as words without descriptions or examples. Names that it finds as the set
has them are counted: how many get a type, and how many of these the right one. The code was developed on the first 60
documents of Re-DocRED, which are left out.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from mention_data import Record, records

from graphwright.extract.extraction import Excerpt, Extraction
from graphwright.extract.extractors import MentionExtractor
from graphwright.extract.schema import EntityType, Schema
from graphwright.extract.typed import TypedExtractor

_DEVELOPED_ON = 60  # documents of Re-DocRED
Labelled = tuple[Record, list[tuple[int, int, str]]]
_DOCRED = {"PER": "person", "ORG": "organisation", "LOC": "place"}


def words_of(label: str) -> str:
    """Return the words of a label of CrossNER.

    >>> words_of("musicalartist"), words_of("academicjournal"), words_of("chemicalelement")
    ('musical artist', 'academic journal', 'chemical element')
    """
    return re.sub(
        r"^(political|musical|academic|chemical|astronomical|literary|program|music)(?=[a-z]{3})", r"\1 ", label
    )


def labelled(folder: Path, texts: int) -> dict[str, list[Labelled]]:
    """Return texts by set, each with the names that have one of its types."""
    found: defaultdict[str, list[Labelled]] = defaultdict(list)
    seen = 0
    for record in records(folder):
        if record.source == "redocred":
            seen += 1
            kept = [(a, b, _DOCRED[label]) for a, b, label in record.names if label in _DOCRED]
        elif record.source == "crossner":
            kept = [(a, b, words_of(label)) for a, b, label in record.names if label != "misc"]
        else:
            continue
        if kept and (record.source != "redocred" or seen > _DEVELOPED_ON) and len(found[record.source]) < texts:
            found[record.source].append((record, kept))
    return found


def check(rows: Sequence[Labelled]) -> Iterator[tuple[str, str]]:
    """Yield the right type of each name that is found, and the type it gets."""
    kinds = sorted({label for _, names in rows for *_, label in names})
    extractor = TypedExtractor(MentionExtractor(), Schema(tuple(map(EntityType, kinds))))
    for record, names in rows:
        (made,) = extractor.extract([Excerpt("", "", record.text)])
        assert isinstance(made, Extraction)
        types = {(mention.start, mention.end): mention.type for mention in made.mentions}
        yield from ((label, types[a, b]) for a, b, label in names if (a, b) in types)


def main() -> None:
    """Print a line for each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--texts", type=int, default=300)
    options = parser.parse_args()
    for name, rows in labelled(options.data, options.texts).items():
        pairs = list(check(rows))
        typed_names, right = [p for p in pairs if p[1]], sum(a == b for a, b in pairs)
        kinds = len({label for label, _ in pairs})
        print(
            f"{name}: {len(rows)} texts, {len(pairs)} names, {kinds} types; typed {len(typed_names) / len(pairs):.0%}, "
            f"right {right / max(len(typed_names), 1):.0%} of these, {right / len(pairs):.0%} of all"
        )


if __name__ == "__main__":
    main()
