"""Summarise a run in plain sentences made of its figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from graphwright.evaluate.report.figures import (
    LEVEL,
    corrected_p,
    counted,
    failed_wholly,
    is_share,
    isolated,
    joined,
    main_error,
    milliseconds,
    p_value,
    ranked,
    relative_time,
    score,
)

__all__ = ["heading", "judge_name", "judge_sentence", "reading", "searched"]

Summary = Mapping[str, Any]

_NAMED = 3  # methods that a sentence names
_JUDGED = 6
_ERROR = 160  # characters of an error
_NOTHING = 1e-9
_PLACES = {1: "first place", 2: "first two", 3: "first three", 4: "first four", 5: "first five", 10: "first ten"}
_OVERLAP_JUDGE = re.compile(r"stand-in for a model: .*\((F1 >= [\d.]+)\)")
_CLAIMS = {
    "exact match": "answers {} of the questions exactly as accepted",
    "hits@1": "has an accepted answer in first place for {} of the questions",
    "hit": "names an accepted answer for {} of the questions",
}
_NO_STATISTICS = 'Intervals and tests of differences need scipy: pip install "graphwright[stats]".'


def heading(summary: Summary) -> str:
    """Return the compared methods and the data as a sentence.

    >>> heading({"methods": {"ppr": 0, "bm25": 0}, "data": {"name": "rivers", "questions": 100, "documents": 9}})
    'Two methods compared on 100 questions over the nine documents of rivers.'
    """
    data, methods = summary["data"], summary["methods"]
    alone = len(methods) == 1
    what = f"{isolated(next(iter(methods)))} measured" if alone else f"{counted(len(methods), 'method')} compared"
    questions = counted(data["questions"], "question") if "questions" in data else "the questions"
    size = f"{data.get('nodes') or 0:,} nodes and {data.get('edges') or 0:,} edges"
    place = {
        "documents": f"over the {counted(data.get('documents') or 0, 'document')} of {data['name']}",
        "graph": f"over the graph of {data['name']}, {size}",
        "index": f"of {data['name']} over an index of {size}",
    }
    sentence = f"{what} on {questions} {place.get(searched(summary), 'of ' + str(data['name']))}."
    return sentence if alone else sentence[0].upper() + sentence[1:]


def searched(summary: Summary) -> str:
    """Return the searched data: "documents", "graph", "index", or "" where that is not known."""
    data = summary["data"]
    return str(data.get("over") or ("documents" if data.get("documents") else "graph" if data.get("nodes") else ""))


def reading(summary: Summary) -> list[str]:
    """Return sentences on the primary metric: the best method, the others, the fastest, and failures.

    A method that failed on every question is only reported as failed.
    """
    missing = summary.get("statistics") is False
    return [*_comparisons(summary), *_failures(summary), *([_NO_STATISTICS] if missing else [])]


def judge_sentence(summary: Summary) -> str:
    """Return the share of right answers of each method, best first; "" without a judge."""
    judge = summary.get("judge") or {}
    right = {name: accuracy["mean"] for name, accuracy in (judge.get("accuracy") or {}).items()}
    if not right:
        return ""
    order = sorted(right, key=lambda name: -right[name])
    shares = ", ".join(f"{isolated(name)} {100 * right[name]:.1f} %" for name in order[:_JUDGED])
    rest = f", and {counted(len(order) - _JUDGED, 'more method')}" if len(order) > _JUDGED else ""
    return f"Answers found right, by {judge_name(judge)}: {shares}{rest}."


def judge_name(judge: Mapping[str, Any]) -> str:
    """Return the judge's name; that of the offline judge with its criteria.

    >>> judge_name({"model": "stand-in for a model: words shared with accepted answers (F1 >= 0.5)"})
    'a stand-in for a model (all words of an accepted answer in a row, or F1 >= 0.5 with one)'
    """
    name = str(judge.get("model") or "a judge that is not named")
    overlap = _OVERLAP_JUDGE.match(name)
    criterion = "all words of an accepted answer in a row"
    return f"a stand-in for a model ({criterion}, or {overlap[1]} with one)" if overlap else name


def _comparisons(summary: Summary) -> Iterator[str]:
    primary, methods = summary["primary"], summary["methods"]
    measured = [name for name in ranked(summary) if primary in methods[name]["metrics"]]
    order = [name for name in measured if not failed_wholly(methods[name])]
    if not measured:
        yield f"No method has {primary}, so that there is nothing to rank them by."
    elif order and not any(_mean(summary, name) for name in order):
        who = isolated(order[0]) if len(order) == 1 else "each of the methods"
        yield f"Nothing was found: {primary} of {who} is {_value(summary, order[0])}."
    elif order:
        yield _best(summary, order)
        if len(order) > 1:
            yield _second(summary, order)
        yield from _differences(summary, order)
        yield from _fastest(summary, order)


def _best(summary: Summary, order: list[str]) -> str:
    """Return the score of the best method, its lead over the baseline, and its costs."""
    best, baseline = order[0], summary["baseline"]
    time = f"{milliseconds(_p50(summary, best))} ms a question"
    claim = (
        f"{isolated(best)}{', the baseline,' if best == baseline and len(order) > 1 else ''} {_claim(summary, best)}"
    )
    if len(order) == 1:
        metric, percent = summary["methods"][best]["metrics"][summary["primary"]], _percent(summary)
        if metric.get("low") is not None:
            claim += f" (95 % interval {score(metric['low'], percent)} to {score(metric['high'], percent)})"
    against = _against(summary, best)
    if against is None or baseline not in order:
        return f"{claim}, in {time}."
    took = f"{time}, {relative_time(_p50(summary, best) / max(_p50(summary, baseline), 1e-9), isolated(baseline))}"
    return f"{claim}, {_difference(summary, against, f'than {isolated(baseline)}')}. It takes {took}."


def _second(summary: Summary, order: list[str]) -> str:
    """Return the second best method, with its difference to the best one where the best is the baseline."""
    best, second = order[:2]
    against = _against(summary, second)
    if best == summary["baseline"] and against is not None:
        return f"Next is {isolated(second)}, {_difference(summary, against)}."
    return f"Next is {isolated(second)} with {_value(summary, second)}."


def _difference(summary: Summary, against: Mapping[str, Any], than: str = "") -> str:
    """Return a difference to the baseline, and whether it may be chance."""
    difference, p = float(against["difference"]), corrected_p(against)
    if abs(difference) < _NOTHING:
        return f"exactly as much {than.replace('than', 'as')}".strip()
    size = score(abs(difference), _percent(summary))
    if _percent(summary):
        size += " point" if size == "1.0" else " points"
    amount = f"{size} {'more' if difference > 0 else 'less'} {than}".strip()
    if p is None:
        return amount
    return f"{amount} ({p_value(p)})" if p < LEVEL else f"{amount}, which may well be chance ({p_value(p)})"


def _differences(summary: Summary, order: list[str]) -> Iterator[str]:
    """Count the methods that differ from the baseline, where several were tested."""
    tests = [against for name in order if (against := _against(summary, name)) is not None]
    values = [(against["difference"], p) for against in tests if (p := corrected_p(against)) is not None]
    if len(values) < 2:
        return
    better = sum(difference > 0 and p < LEVEL for difference, p in values)
    worse = sum(difference < 0 and p < LEVEL for difference, p in values)
    alike = len(values) - better - worse
    yield (
        f"Compared with {isolated(summary['baseline'])}, {better} of {len(values)} methods are better, {worse} worse "
        f"and {alike} not significantly different (p < {LEVEL}, corrected for many comparisons)."
    )


def _fastest(summary: Summary, order: list[str]) -> Iterator[str]:
    """Name the fastest methods where the best is not the only one; those within a tenth are equally fast."""
    shortest = min(_p50(summary, name) for name in order)
    fast = [name for name in order if 0.9 * _p50(summary, name) <= shortest]
    if fast != order[:1]:
        names = joined([f"{isolated(name)} with {_value(summary, name)}" for name in fast[:_NAMED]])
        more = f", and {counted(len(fast) - _NAMED, 'more method')}" if len(fast) > _NAMED else ""
        yield f"Fastest, within a tenth of {milliseconds(shortest)} ms: {names}{more}."


def _failures(summary: Summary) -> Iterator[str]:
    """Name the failed methods, with their numbers of failures and the most frequent error."""
    failed = {name: method for name, method in summary["methods"].items() if method.get("failed")}
    for name, method in list(failed.items())[:_NAMED]:
        text = " ".join(main_error(method).split()).rstrip(".")
        cause = f": {text if len(text) <= _ERROR else text[: _ERROR - 1] + '…'}" if text else ""
        if failed_wholly(method):
            yield f"{isolated(name)} failed on every question, so that nothing is known of its quality{cause}."
        else:
            most = ", most often" if cause and len(method["errors"]) > 1 else ""
            yield f"{isolated(name)} failed on {counted(method['failed'], 'question')}, counted as 0{most}{cause}."
    if len(failed) > _NAMED:
        yield f"{counted(len(failed) - _NAMED, 'more method').capitalize()} failed on some or all questions."


def _against(summary: Summary, name: str) -> Mapping[str, float] | None:
    """Return the difference of a method to the baseline, None where one of them has no results."""
    methods = summary["methods"]
    if failed_wholly(methods[name]) or failed_wholly(methods.get(summary["baseline"], {})):
        return None
    against: Mapping[str, float] | None = (methods[name].get("against_baseline") or {}).get(summary["primary"])
    return against


def _claim(summary: Summary, name: str) -> str:
    """Return the score of a method in words."""
    primary, value = summary["primary"], _value(summary, name)
    recall = re.fullmatch(r"recall@(\d+)", primary)
    if recall:
        k = int(recall[1])
        kind = "nodes" if searched(summary) == "graph" else "documents"
        return f"finds {value} of the gold {kind} in its {_PLACES.get(k, f'first {k:,}')}"
    claim = _CLAIMS.get(primary)
    return claim.format(value) if claim else f"reaches {value} in {primary}"


def _percent(summary: Summary) -> bool:
    return is_share(summary, summary["primary"])


def _value(summary: Summary, name: str) -> str:
    return score(_mean(summary, name), _percent(summary)) + (" %" if _percent(summary) else "")


def _mean(summary: Summary, name: str) -> float:
    return float(summary["methods"][name]["metrics"][summary["primary"]]["mean"])


def _p50(summary: Summary, name: str) -> float:
    return float(summary["methods"][name]["milliseconds"]["p50"])
