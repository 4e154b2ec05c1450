"""BLEU, ROUGE and METEOR of summaries: worked numbers, several references, and what is missing said."""

from __future__ import annotations

import math
import sys

import pytest

from graphwright.errors import OptionError
from graphwright.evaluate.measures import SUMMARY_METRICS, bleu, meteor, rouge, summary_scores


def needs(name: str) -> None:
    pytest.importorskip(name, reason="of the extra bench")


def test_bleu_1_is_precision_of_clipped_words_and_bleu_2_the_geometric_mean() -> None:
    needs("sacrebleu")
    # "the" counts twice, as in the reference; five words of six, and two pairs ("the cat", "on the") of five.
    text, reference = "the cat sat on the the", "the cat lay on the mat today"
    shorter = math.exp(1 - 7 / 6)
    assert bleu(text, [reference], 1) == pytest.approx(shorter * 4 / 6)
    assert bleu(text, [reference], 2) == pytest.approx(shorter * math.sqrt(4 / 6 * 2 / 5))


def test_bleu_takes_references_together_and_the_nearest_length() -> None:
    needs("sacrebleu")
    # Each word stands in one of the two; the first is as long as the text.
    assert bleu("red cars drive", ["red cars stop", "they drive a long way home"], 1) == pytest.approx(1)
    assert bleu("Red CARS.", ["red cars."], 2) == pytest.approx(1)


def test_rouge_is_f1_of_stems_and_the_best_reference_counts() -> None:
    needs("rouge_score")
    # Words: 2 of 3 and of 4; pairs: 1 of 2 and of 3; the longest common subsequence has 2.
    one = rouge("king married her", ["the king marries Waldrada"])
    assert one["ROUGE-1"] == pytest.approx(2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4))
    assert one["ROUGE-2"] == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3))
    assert one["ROUGE-L"] == pytest.approx(one["ROUGE-1"])
    several = rouge("king married her", ["nothing of it", "the king marries Waldrada"])
    assert several == pytest.approx(one)


def test_meteor_weighs_recall_and_chunks_and_knows_no_synonyms() -> None:
    needs("nltk")
    # Three of four words in one chunk, "cats" by its stem: P = 3/3, R = 3/4, F = 10PR/(R + 9P), penalty 0.5 (1/3)³.
    f = 10 * 1 * 0.75 / (0.75 + 9 * 1)
    assert meteor("The cat sat", ["the cats sat there"]) == pytest.approx(f * (1 - 0.5 / 27))
    # "automobile" is no "car" here; with WordNet it would be.
    assert meteor("automobile", ["car"]) == 0
    assert meteor("the cat sat", ["no", "the cats sat there"]) == pytest.approx(f * (1 - 0.5 / 27))


def test_all_metrics_are_between_nothing_and_the_same() -> None:
    for name in ("nltk", "rouge_score", "sacrebleu"):
        needs(name)
    text = "Retief helps the farmers of Lovenbroy to harvest their grapes."
    same, none, empty = (summary_scores(said, [text]) for said in (text, "x y z", ""))
    assert tuple(same) == SUMMARY_METRICS
    assert all(value == pytest.approx(1, abs=0.001) for value in same.values())
    assert all(value == pytest.approx(0, abs=0.1) for value in none.values())
    assert set(empty.values()) == {0.0}


@pytest.mark.parametrize("references", [[], (), "one text"])
def test_references_are_a_list(references: list[str]) -> None:
    needs("sacrebleu")
    with pytest.raises(OptionError, match="references are"):
        summary_scores("text", references)
    with pytest.raises(OptionError, match="n is 0"):
        bleu("text", ["text"], 0)


@pytest.mark.parametrize(("metric", "module"), [(meteor, "nltk"), (rouge, "rouge_score")])
def test_a_library_that_is_not_there_is_named_with_its_extra(
    metric: object, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphwright.evaluate import measures

    measures._rouge.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(OptionError, match=rf"{module.replace('_', '-')}, which .*graphwright\[bench\]"):
        metric("text", ["text"])  # type: ignore[operator]


def test_meteor_ignores_case_and_punctuation() -> None:
    needs("nltk")
    plain = "éire he said 20"
    assert meteor("“Éire”, he said: 20%!", [plain]) == meteor(plain, [plain])
