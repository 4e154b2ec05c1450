"""Metrics of summaries: worked numbers, ranges, and the libraries that they need."""

from __future__ import annotations

import math
import sys

import published.summaries as summaries
import pytest
from published.summaries import SUMMARY_METRICS, summary_scores

from graphwright.errors import OptionError


def summary(text: str, references: list[str]) -> dict[str, float]:
    """Return the metrics of a summary; skip the test without the extra `bench`."""
    for name in ("nltk", "rouge_score", "sacrebleu"):
        pytest.importorskip(name, reason="of the extra bench")
    return summary_scores(text, references)


def test_bleu_equals_worked_number() -> None:
    # "the" counts twice, as in the reference; five words of six, and two pairs ("the cat", "on the") of five.
    text, reference = "the cat sat on the the", "the cat lay on the mat today"
    shorter = math.exp(1 - 7 / 6)
    assert summary(text, [reference])["BLEU-1"] == pytest.approx(shorter * 4 / 6)
    assert summary(text, [reference])["BLEU-2"] == pytest.approx(shorter * math.sqrt(4 / 6 * 2 / 5))


def test_bleu_uses_nearest_reference_length() -> None:
    # Each word stands in one of the two; the first is as long as the text.
    assert summary("red cars drive", ["red cars stop", "they drive a long way home"])["BLEU-1"] == pytest.approx(1)
    assert summary("Red CARS.", ["red cars."])["BLEU-2"] == pytest.approx(1)


def test_rouge_uses_stems_and_best_reference() -> None:
    # Words: 2 of 3 and of 4; pairs: 1 of 2 and of 3; the longest common subsequence has 2.
    item = summary("king married her", ["the king marries Waldrada"])
    assert item["ROUGE-1"] == pytest.approx(2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4))
    assert item["ROUGE-2"] == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3))
    assert item["ROUGE-L"] == pytest.approx(item["ROUGE-1"])
    several = summary("king married her", ["nothing of it", "the king marries Waldrada"])
    assert several["ROUGE-L"] == pytest.approx(item["ROUGE-L"])


def test_meteor_weighs_recall_and_chunks() -> None:
    # Three of four words in one chunk, "cats" by its stem: P = 3/3, R = 3/4, F = 10PR/(R + 9P), penalty 0.5 (1/3)³.
    f = 10 * 1 * 0.75 / (0.75 + 9 * 1)
    assert summary("The cat sat", ["the cats sat there"])["METEOR"] == pytest.approx(f * (1 - 0.5 / 27))
    # "automobile" is no "car" here; with WordNet it would be.
    assert summary("automobile", ["car"])["METEOR"] == 0
    assert summary("the cat sat", ["no", "the cats sat there"])["METEOR"] == pytest.approx(f * (1 - 0.5 / 27))


def test_text_metrics_lie_between_zero_and_one() -> None:
    text = "Retief helps the farmers of Lovenbroy to harvest their grapes."
    same, none, empty = (summary(message, [text]) for message in (text, "x y z", ""))
    assert tuple(same) == SUMMARY_METRICS
    assert all(value == pytest.approx(1, abs=0.001) for value in same.values())
    assert all(value == pytest.approx(0, abs=0.1) for value in none.values())
    assert set(empty.values()) == {0.0}


@pytest.mark.parametrize("references", [[], (), "one text"])
def test_text_metric_references_must_be_list(references: list[str]) -> None:
    with pytest.raises(OptionError, match="references are"):
        summary_scores("text", references)


@pytest.mark.parametrize("module", ["nltk", "rouge_score", "sacrebleu"])
def test_missing_metric_library_names_extra(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    summaries._scorers.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(OptionError, match=r"graphwright\[bench\]"):
        summary_scores("text", ["text"])


def test_meteor_ignores_case_and_punctuation() -> None:
    plain = "éire he said 20"
    assert summary("“Éire”, he said: 20%!", [plain])["METEOR"] == summary(plain, [plain])["METEOR"]
