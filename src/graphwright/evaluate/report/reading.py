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
    in_words,
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
_CORRECTED = "corrected for many comparisons"
_PLACES = {1: "first place", 2: "first two", 3: "first three", 4: "first four", 5: "first five", 10: "first ten"}
_OVERLAP_JUDGE = re.compile(r"stand-in for a model: .*\((F1 >= [\d.]+)\)")
_CLAIMS = {
    "exact match": "answers {} of the questions exactly as accepted",
    "hits@1": "has an accepted answer in first place for {} of the questions",
    "hit": "names an accepted answer for {} of the questions",
    "accuracy": "answers {} of the questions rightly",
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
    """Return what was searched: "documents", "graph", "index", or "" where that is not known."""
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
    if not measured:
        yield f"No method has {primary}, so that there is nothing to rank them by."
        return
    order = [name for name in measured if not failed_wholly(methods[name])]
    if not order:
        return
    best, baseline = order[0], summary["baseline"]
    if not any(_mean(methods[name], primary) for name in order):
        who = isolated(best) if len(order) == 1 else "each of the methods"
        yield f"Nothing was found: {primary} of {who} is {_value(summary, best)}."
        return
    if len(order) == 1:
        yield _single(summary, best, len(methods) == 1)
    elif best == baseline:
        yield from _baseline_first(summary, order)
    else:
        yield from _other_first(summary, order)
    yield from _differences(summary, order)
    yield from _fastest(summary, order)


def _failures(summary: Summary) -> Iterator[str]:
    """Say which methods failed on how many questions, and most often of what."""
    methods = summary["methods"]
    wholly = [name for name, of in methods.items() if failed_wholly(of)]
    partly = [name for name, of in methods.items() if of.get("failed") and name not in wholly]
    if len(wholly) > _NAMED:
        who = "All" if len(wholly) == len(methods) else f"{counted(len(wholly), 'method').capitalize()} of the"
        yield f"{who} {len(methods):,} methods failed on every question, so that nothing is known of their quality."
        yield f"{isolated(wholly[0])}{_most_often(methods[wholly[0]])}."
    for name in wholly if len(wholly) <= _NAMED else ():
        failed = methods[name]["failed"]
        which = f"every one of {counted(failed, 'question')}" if failed > 1 else "the one question"
        cause = _most_often(methods[name])
        yield f"{isolated(name)} failed on {which}, so that nothing is known of its quality{cause}."
    for name in partly if len(partly) <= _NAMED else ():
        of = methods[name]
        yield f"{isolated(name)} failed on {counted(of['failed'], 'question')}, counted as 0{_most_often(of)}."
    if len(partly) > _NAMED:
        yield f"{counted(len(partly), 'method').capitalize()} failed on some questions, counted as 0."


def _most_often(method: Mapping[str, Any]) -> str:
    text = " ".join(main_error(method).split()).rstrip(".")
    most = ", most often" if len(method.get("errors") or ()) > 1 else ""
    return f"{most}: {text if len(text) <= _ERROR else text[: _ERROR - 1] + '…'}" if text else ""


def _single(summary: Summary, name: str, only: bool) -> str:
    method, primary = summary["methods"][name], summary["primary"]
    metric, percent = method["metrics"][primary], is_share(summary, primary)
    interval = ""
    if metric.get("low") is not None:
        interval = f" (95 % interval {score(metric['low'], percent)} to {score(metric['high'], percent)})"
    alone = " There is no other method to compare it with." if only else ""
    return f"{isolated(name)} {_claim(summary, name)}{interval}, in {_time(summary, name)}.{alone}"


def _baseline_first(summary: Summary, order: list[str]) -> Iterator[str]:
    best, second = order[:2]
    against = _against(summary, second)
    if against is not None and _equal(against):
        claim = f"{isolated(best)}, the baseline, {_claim(summary, best)}, in {_time(summary, best)}"
        yield f"{claim}; {isolated(second)} {_as_much(summary, best)}."
        return
    yield f"{isolated(best)}, the baseline, comes first: it {_claim(summary, best)}, in {_time(summary, best)}."
    if against is None:
        return
    p = corrected_p(against)
    certainty = "" if p is None else f" ({p_value(p)})" if p < LEVEL else f": {_chance(p)}"
    yield f"The next, {isolated(second)}, has {_points(summary, against['difference'])} less{certainty}."


def _other_first(summary: Summary, order: list[str]) -> Iterator[str]:
    best, baseline = order[0], summary["baseline"]
    methods = summary["methods"]
    against = _against(summary, best)
    claim = f"{isolated(best)} {_claim(summary, best)}"
    if against is None or baseline not in order:
        yield f"{claim}, in {_time(summary, best)}."
    else:
        ratio = _p50(methods[best]) / max(_p50(methods[baseline]), 1e-9)
        yield _ahead(
            summary, claim, against, f"takes {_time(summary, best)}, {relative_time(ratio, isolated(baseline))}"
        )
    second = order[1]
    if second == baseline:
        return
    if abs(_mean(methods[best], summary["primary"]) - _mean(methods[second], summary["primary"])) < _NOTHING:
        yield f"{isolated(second)} {_as_much(summary, best)}."
    else:
        value = _value(summary, second)
        yield f"Next is {isolated(second)} with {value}; these two were not tested against each other."


def _ahead(summary: Summary, claim: str, against: Mapping[str, Any], took: str) -> str:
    """Return how far the best method is ahead of the baseline, and what it takes."""
    best, baseline = ranked(summary)[0], isolated(summary["baseline"])
    if _equal(against):
        return f"{claim}; {baseline}, the baseline, {_as_much(summary, best)}. {isolated(best)} {took}."
    more = f"{_points(summary, against['difference'])} more than {baseline}"
    p = corrected_p(against)
    if p is None:
        return f"{claim}, {more}, and {took}."
    return f"{claim}, {more} ({p_value(p)}), and {took}." if p < LEVEL else f"{claim}, {more}: {_chance(p)}. It {took}."


def _differences(summary: Summary, order: list[str]) -> Iterator[str]:
    """Say how many methods differ from the baseline, where several were tested."""
    tests = [against for name in order if (against := _against(summary, name)) is not None]
    values = [(against["difference"], p) for against in tests if (p := corrected_p(against)) is not None]
    if len(values) < 2:
        return
    significant = [difference for difference, p in values if p < LEVEL]
    better, worse = sum(value > 0 for value in significant), sum(value < 0 for value in significant)
    baseline, count = isolated(summary["baseline"]), summary["data"].get("questions")
    questions = counted(count, "question") if count else "these questions"
    if not better + worse:
        who = "Neither of the two others" if len(values) == 2 else f"None of the {counted(len(values), 'other')}"
        yield f"{who} can be told apart from {baseline} by {questions} (p ≥ {LEVEL}, {_CORRECTED})."
        return
    claim = f"{_how_many(better)} better than {baseline}" + (f" and {_how_many(worse)} worse" if worse else "")
    unsure = len(values) - better - worse
    rest = f"; {in_words(unsure)} cannot be told apart from it by {questions}" if unsure else ""
    yield f"Beyond chance (p < {LEVEL}, {_CORRECTED}) {claim}{rest}."


def _how_many(count: int) -> str:
    return "none is" if not count else "one is" if count == 1 else f"{in_words(count)} are"


def _fastest(summary: Summary, order: list[str]) -> Iterator[str]:
    """Name the fastest methods where the best is not the only one; those within a tenth are equally fast."""
    times = {name: _p50(summary["methods"][name]) for name in order}
    shortest = min(times.values())
    fast = sorted((name for name in order if 0.9 * times[name] <= shortest), key=lambda name: times[name])
    if order[0] in fast:
        others = [name for name in fast if name != order[0]]
        if others and others != [summary["baseline"]]:  # the baseline's time is already in the sentence before
            names = joined([isolated(name) for name in (order[0], *others[:_NAMED])])
            yield f"Equally fast, to within a tenth, are {names}{_more(len(others))}."
    elif len(fast) == 1:
        yield f"The fastest is {isolated(fast[0])}: {milliseconds(shortest)} ms, and {_value(summary, fast[0])}."
    else:
        names = joined([f"{isolated(name)} with {_value(summary, name)}" for name in fast[:_NAMED]])
        time = f"{milliseconds(shortest)} ms"
        yield f"The fastest are {names}{_more(len(fast))}: equally fast to within a tenth, {time}."


def _more(count: int) -> str:
    return f", and {counted(count - _NAMED, 'more method')}" if count > _NAMED else ""


def _equal(against: Mapping[str, Any]) -> bool:
    return abs(float(against["difference"])) < _NOTHING


def _as_much(summary: Summary, best: str) -> str:
    """Return the sentence part for a method that reaches the same value."""
    primary = summary["primary"]
    all_of_it = is_share(summary, primary) and _mean(summary["methods"][best], primary) == 1
    verb = "finds" if re.fullmatch(r"recall@\d+", primary) else "reaches"
    return f"{verb} exactly as much" + (", on every question" if all_of_it else "")


def _chance(p: float) -> str:
    return f"that may well be chance ({p_value(p)})"


def _against(summary: Summary, name: str) -> Mapping[str, float] | None:
    """Return the difference of a method to the baseline, None where one of them has no results."""
    methods = summary["methods"]
    if failed_wholly(methods[name]) or failed_wholly(methods.get(summary["baseline"], {})):
        return None
    against: Mapping[str, float] | None = (methods[name].get("against_baseline") or {}).get(summary["primary"])
    return against


def _points(summary: Summary, difference: float) -> str:
    percent = is_share(summary, summary["primary"])
    text = score(abs(difference), percent)
    return f"{text} point{'' if text == '1.0' else 's'}" if percent else text


def _value(summary: Summary, name: str) -> str:
    percent = is_share(summary, summary["primary"])
    text = score(_mean(summary["methods"][name], summary["primary"]), percent)
    return f"{text} %" if percent else text


def _claim(summary: Summary, name: str) -> str:
    """Return what a method reaches, in words."""
    primary, value = summary["primary"], _value(summary, name)
    recall = re.fullmatch(r"recall@(\d+)", primary)
    if recall:
        k = int(recall[1])
        kind = "nodes" if searched(summary) == "graph" else "documents"
        return f"finds {value} of the gold {kind} in its {_PLACES.get(k, f'first {k:,}')}"
    claim = _CLAIMS.get(primary.lower().replace("_", " "))
    return claim.format(value) if claim else f"reaches {value} in {primary}"


def _mean(method: Mapping[str, Any], metric: str) -> float:
    return float(method["metrics"][metric]["mean"])


def _p50(method: Mapping[str, Any]) -> float:
    return float(method["milliseconds"]["p50"])


def _time(summary: Summary, name: str) -> str:
    return f"{milliseconds(_p50(summary['methods'][name]))} ms a question"
