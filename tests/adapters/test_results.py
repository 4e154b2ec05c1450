"""What adapters pass on beside the text of a passage."""

from __future__ import annotations

from pathlib import Path

from graphwright import Graph, Index
from graphwright.adapters.results import answer_with_sources, metadata_of, passages_of


def test_adapter_passage_has_location_and_metadata(tmp_path: Path) -> None:
    code = "def rise():\n    return 'The Mur rises in the Hohe Tauern.'\n"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "mur.py").write_text(code)
    (tmp_path / "docs" / "graz.md").write_text("---\ndate: 2024-02-01\nscore: 7\n---\nGraz lies on the Mur.\n")
    with Index.create(tmp_path / "ix") as index:
        index.sync(tmp_path / "docs")
        state = index.ask("Where does the Mur rise?")
        metadata = metadata_of(index, state)
        found = {fields["document"]: fields for fields in metadata.values()}
        assert set(metadata) == {passage.id for passage in passages_of(state)} and set(found) == {"mur.py", "graz.md"}
        assert found["mur.py"]["location"] == "lines 1-2 of rise" and "location" not in found["graz.md"]
        assert found["graz.md"]["date"] == "2024-02-01"
        assert found["graz.md"]["score"] != "7"  # the passage's own fields go first
        sources = answer_with_sources(state).splitlines()
        assert any(line.startswith("[1] mur.py, line") and "of rise, characters" in line for line in sources)


def test_adapter_passage_of_graph_has_neither(tmp_path: Path) -> None:
    with Index.from_graph(tmp_path / "ix", Graph.from_triples([("Graz", "lies on", "Mur")])) as index:
        state = index.retrieve("Where is Graz?")
        assert all("location" not in fields for fields in metadata_of(index, state).values())
