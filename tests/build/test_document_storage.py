"""Documents of a synced folder under new names: recognised by their text, and not read again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphwright import Index
from graphwright.extract import LexicalExtractor
from graphwright.extract.extraction import Excerpt, Extraction, Extractor
from graphwright.models import HashEncoder


@dataclass
class CountingModel:
    """An extractor that stands for a language model, and counts what it reads."""

    seen: list[str] = field(default_factory=list)
    id: str = "counting"
    provisional: Extractor = field(default_factory=LexicalExtractor)

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction]:
        self.seen += [excerpt.text for excerpt in excerpts]
        return LexicalExtractor().extract(excerpts)  # type: ignore[return-value]


def written(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def graph_of(index: Index) -> tuple[int, list[str]]:
    return index.graph.checksum, [listed.id for listed in index.list_documents()]


NOTES = {f"a/note-{n}.txt": f"Valve {n} is checked by Ida Holm in Graz." for n in range(5)}


def test_sync_renamed_folder_moves_its_documents(tmp_path: Path) -> None:
    folder = written(tmp_path / "docs", NOTES)
    index = Index.create(tmp_path / "ix", encoder=HashEncoder())
    index.sync(folder)
    (folder / "a").rename(folder / "b")
    changes = index.sync(folder)
    assert changes.moved == [(name, name.replace("a/", "b/")) for name in NOTES] and changes.renamed == 0
    assert not (changes.added or changes.removed or changes.replaced)
    fresh = Index.create(tmp_path / "fresh", encoder=HashEncoder())
    fresh.add(folder)
    assert graph_of(index) == graph_of(fresh) and index.verify() == []
    assert len(index.sync(folder).unchanged) == 5


def test_sync_renamed_file_is_not_paid_again(tmp_path: Path) -> None:
    folder, model = written(tmp_path / "docs", NOTES), CountingModel()
    index = Index.create(tmp_path / "ix", encoder=HashEncoder(), extractor=model)
    index.sync(folder)
    (folder / "a/note-3.txt").rename(folder / "a/Kühlhaus.txt")
    (folder / "a/note-4.txt").rename(folder / "Keller.txt")
    changes = index.sync(folder)
    assert sorted(changes.moved) == [("a/note-3.txt", "a/Kühlhaus.txt"), ("a/note-4.txt", "Keller.txt")]
    assert changes.renamed == 1 and len(model.seen) == 5 and not changes.pending
    assert {listed.title for listed in index.list_documents()} >= {"Kühlhaus", "Keller"}


@pytest.mark.parametrize("name", ["a/copy.txt", "z.txt"])
def test_sync_copy_beside_its_original_is_added(tmp_path: Path, name: str) -> None:
    folder = written(tmp_path / "docs", NOTES)
    index = Index.create(tmp_path / "ix", encoder=HashEncoder())
    index.sync(folder)
    written(folder, {name: NOTES["a/note-1.txt"]})
    changes = index.sync(folder)
    assert (changes.added, changes.moved, len(changes.unchanged)) == ([name], [], 5)


def test_sync_renamed_table_moves_its_rows(tmp_path: Path) -> None:
    rows = "id,text\n1,Ida Holm checks the valve.\n2,Per Lund checks the pump.\n"
    folder = written(tmp_path / "docs", {"crew.csv": rows, "note.txt": "One note."})
    index = Index.create(tmp_path / "ix", encoder=HashEncoder())
    index.sync(folder)
    (folder / "crew.csv").rename(folder / "team.csv")
    changes = index.sync(folder)
    assert changes.moved == [("crew.csv#1", "team.csv#1"), ("crew.csv#2", "team.csv#2")]
    assert not changes.removed


def test_sync_names_written_alike_second_is_skipped(tmp_path: Path) -> None:
    folder = written(tmp_path / "docs", {"Ku\u0308che.txt": "One.", "K\u00fcche.txt": "Two.", "x.txt": "Three."})
    index = Index.create(tmp_path / "ix", encoder=HashEncoder())
    changes = index.sync(folder)
    assert changes.added == ["Küche.txt", "x.txt"]
    assert [skipped.reason for skipped in changes.skipped] == [
        r"not added: its name 'K\xfcche.txt' is written like 'Ku\u0308che.txt', so that both have the id 'Küche.txt'. "
        "Rename one"
    ]


@settings(max_examples=8, deadline=None)
@given(st.permutations(range(4)), st.sets(st.integers(0, 3)))
def test_sync_any_renaming_equals_a_fresh_index(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], kept: set[int]
) -> None:
    root = tmp_path_factory.mktemp("renamed")
    texts = [f"Hall {n // 2} holds the pump of Per Lund." for n in range(4)]  # each twice
    folder = written(root / "docs", {f"{n}.txt": text for n, text in enumerate(texts)})
    index = Index.create(root / "ix", encoder=HashEncoder())
    index.sync(folder)
    for n in range(4):
        if n not in kept:
            (folder / f"{n}.txt").unlink()
    written(folder, {f"new/{at}.txt": texts[n] for at, n in enumerate(order)})
    index.sync(folder)
    fresh = Index.create(root / "fresh", encoder=HashEncoder())
    fresh.add(folder)
    assert graph_of(index) == graph_of(fresh) and index.verify() == []


@pytest.mark.parametrize("given_as", ["folder", "file", "parts"])
def test_sync_documents_that_were_added_from_the_folder_are_moved_and_removed(tmp_path: Path, given_as: str) -> None:
    folder = written(tmp_path / "docs", {"tariff.csv": "pier,fee\nNorth,6\nSouth,8\n", "oven.md": "It bakes at night."})
    other = written(tmp_path / "other", {"kiln.md": "The kiln is cold.", "yard/pump.md": "The pump leaks."})
    index = Index.create(tmp_path / "ix", encoder=HashEncoder())
    index.add([folder, other] if given_as == "parts" else sorted(folder.iterdir()) if given_as == "file" else folder)
    index.add([other / "kiln.md", {"id": "note", "text": "A note by hand."}])
    (folder / "oven.md").rename(folder / "stove.md")
    index.add(folder)
    (folder / "tariff.csv").unlink()
    (folder / "stove.md").rename(folder / "hearth.md")
    changes = index.sync(folder)
    [(earlier, now)] = changes.moved
    assert now == "hearth.md" and {earlier, *changes.removed} == {"oven.md", "stove.md", "tariff.csv#2", "tariff.csv#3"}
    kept = {"kiln.md", "note", "yard/pump.md"} if given_as == "parts" else {"kiln.md", "note"}
    assert {listed.id for listed in index.list_documents()} == {"hearth.md", *kept}
    assert index.info()["folders"] == {str(folder.resolve()): 1}


def test_sync_document_added_later_from_elsewhere_is_no_part_of_the_folder(tmp_path: Path) -> None:
    folder = written(tmp_path / "docs", {"bridge.md": "The bridge is open.", "lock.md": "The lock is shut."})
    index = Index.create(tmp_path / "ix", encoder=HashEncoder())
    index.add(folder)
    index.add({"id": "bridge.md", "text": "The bridge was moved to Harl."})
    (folder / "bridge.md").unlink()
    assert index.sync(folder).removed == []
