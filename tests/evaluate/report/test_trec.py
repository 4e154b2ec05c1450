"""TREC runs, read back."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest
from graphwright.evaluate.report.trec import Runs, file_name, lines
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluate.report.small_run import HOSTILE, row, rows


def read(path: Path) -> dict[tuple[str, str], list[list[object]]]:
    """Return rankings by method and question, as tools for TREC runs read them: fields parted by white space."""
    found: dict[tuple[str, str], list[list[object]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        question, q0, document, rank, score, tag = line.split()
        assert q0 == "Q0"
        ranked = found.setdefault((unquote(tag), unquote(question)), [])
        ranked.append([unquote(document), float(score)])
        assert int(rank) == len(ranked)
    return found


def test_runs_hold_the_rankings_whichever_order_results_come_in(tmp_path: Path) -> None:
    held = sorted(rows(), key=lambda one: one["question"])
    with Runs.writing(tmp_path / "runs") as runs:
        for one in held:
            runs.add(one)
    found = {key: ranked for path in (tmp_path / "runs").iterdir() for key, ranked in read(path).items()}
    assert found == {(one["method"], one["question"]): one["documents"] for one in held}
    assert runs.files == {name: f"{name}.trec" for name in ("vector", "ppr", "bm25")}


def test_methods_that_rank_nothing_have_no_run(tmp_path: Path) -> None:
    with Runs.writing(tmp_path / "runs") as runs:
        runs.add(row("cot", "q0", documents=[]))
    assert runs.files == {} and not (tmp_path / "runs").exists()


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.floats(allow_nan=False))
def test_any_id_and_score_is_read_back(name: str, score: float) -> None:
    given = {"method": name, "question": name, "documents": [[name, score]]}
    (line,) = lines(given)
    question, _, document, rank, written, tag = line.split()
    assert [unquote(field) for field in (question, document, tag)] == [name] * 3
    assert float(written) == score and rank == "1"


@pytest.mark.parametrize("name", [*HOSTILE, "CON", "con", "PPR", "ppr ", ".hidden", "-rf", "", "a/b\\c:d", "p" * 500])
def test_file_names_are_safe_on_every_system(name: str) -> None:
    found = file_name(name)
    assert found.isascii() and found == found.lower() and len(found) < 80
    assert found.endswith(".trec") and found.count(".") == 1
    assert all(letter.isalnum() or letter in "-_." for letter in found) and found[0].isalnum()
    assert found.partition(".")[0] not in {"con", "prn", "aux", "nul"}


@given(st.sets(st.text(min_size=1), min_size=2, max_size=5))
def test_every_method_has_a_file_of_its_own(names: set[str]) -> None:
    assert len({file_name(name) for name in names}) == len(names)
