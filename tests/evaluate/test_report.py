"""The report page in a browser: figures, no external resources, and no text parsed as HTML."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser as HTMLParser
from tests.evaluate.small_run import HOSTILE, cells, data, row, rows, summary, text, written

from graphwright.evaluate.figures import milliseconds
from graphwright.evaluate.judges import OverlapJudge
from graphwright.evaluate.report import environment
from graphwright.evaluate.results import script_json

MANY = tuple(f"lego-{at}" for at in range(40))


def judged(methods: list[str]) -> dict[str, Any]:
    record = {"mean": 0.6, "low": 0.5, "high": 0.7, "questions": 6}
    wins = {name: {"diversity": {"mean": 0.7, "low": 0.6, "high": 0.8, "p": 0.01, "ties": 0.2}} for name in methods}
    figures = {"model": HOSTILE[0], "accuracy": dict.fromkeys(methods, record), "wins": wins, "against": methods[0]}
    return {**figures, "position bias": None, "unreadable": 0}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, HTMLParser]:
    """A report in which every text that somebody gives is a hostile one."""
    out = tmp_path_factory.mktemp("hostile")
    asked = {
        f"q{at}": {"text": record, "answers": list(HOSTILE), "gold": list(HOSTILE)} for at, record in enumerate(HOSTILE)
    }
    evidence = [{"text": record, "score": None} for record in HOSTILE]
    citations = [
        {"document": record, "chunk": record, "start": 0, "end": 1, "text": record, "path": [record]}
        for record in HOSTILE
    ]
    result = [
        row(
            method,
            question,
            recall=(place + turn) % 3 / 2,
            seconds=0.01 * (1 + turn),
            type=HOSTILE[place % 3],
            gold=list(HOSTILE),
            documents=[[record, 1.0] for record in HOSTILE],
            evidence=evidence,
            answer={"text": HOSTILE[place], "short": list(HOSTILE), "found": True, "citations": citations},
            steps=[{"operator": HOSTILE[0], "seconds": 0.1, "held": 0.5, "notes": list(HOSTILE)}],
            **({"error": f"BudgetError: {HOSTILE[place]}"} if turn == 4 else {}),
        )
        for turn, method in enumerate(HOSTILE)
        for place, question in enumerate(asked)
    ]
    record = summary(result, judge=judged(list(HOSTILE)))
    record["data"]["name"] = HOSTILE[0]
    record["machine"] = {HOSTILE[0]: HOSTILE[1]}
    record["metrics"][0]["about"] = HOSTILE[0]
    for of in record["methods"].values():
        of["expression"] = HOSTILE[0]
        of["options"] = {"mode": of["method"]}
    points = [{"value": name, "name": name} for name in HOSTILE]
    record["sweeps"] = [{"method": HOSTILE[0], "option": HOSTILE[1], "with": {}, "points": points}]
    return out, written(out, result, record, asked)


def test_leaderboard_orders_summary_figures(tmp_path: Path) -> None:
    record = rows()
    of = summary(record)
    table = cells(written(tmp_path, record), ".board")
    assert [line[0] for line in table] == sorted(
        of["methods"], key=lambda m: -of["methods"][m]["metrics"]["recall@5"]["mean"]
    )
    header = ["method", "recall@5, %", "against vector", "p50 ms", "p95 ms", "encoder tokens", "calls of models"]
    page = HTMLParser((tmp_path / "report.html").read_text(encoding="utf-8"))
    names = [text(item) for item in page.css(".board thead tr:last-child th")]
    assert names == [*header, "ndcg@10, %", "exact match, %"]
    for line in table:
        method = of["methods"][line[0]]
        assert line[1] == f"{100 * method['metrics']['recall@5']['mean']:.1f}"
        assert line[7] == f"{100 * method['metrics']['ndcg@10']['mean']:.1f}"
        assert line[3] == f"{method['milliseconds']['p50']:.0f}"
        against = method["against_baseline"]
        shown = "" if against is None else f"{100 * against['recall@5']['difference']:+.1f}".replace("-", "−")
        assert line[2] == shown.replace("+0.0", "±0.0")


def test_leaderboard_marks_best_and_baseline(tmp_path: Path) -> None:
    record = [
        row(m, f"q{at}", recall=r, seconds=s) for m, r, s in [("a", 0.25, 0.01), ("b", 0.75, 0.09)] for at in (0, 1)
    ]
    page = written(tmp_path, record)
    assert text(page.css_first(".board tr.baseline th")) == "a baseline"
    best = {
        (text(line.css_first("bdi")), text(item)) for line in page.css(".board tbody tr") for item in line.css("td > b")
    }
    assert best == {("b", "75.0 best"), ("b", "37.5 best"), ("a", "10 best")}
    assert [item.attributes["data-v"] for item in page.css(".board tbody td:nth-child(2)")] == ["0.75", "0.25"]


def test_intervals_match_summary(tmp_path: Path) -> None:
    record = [row(method, "q0", recall=recall) for method, recall in (("a", 0.2), ("b", 0.6))]
    style = [item.attributes["style"] for item in written(tmp_path, record).css(".board td:nth-child(2) .interval")]
    # From 0.1, the lowest end, to 0.7, the highest.
    assert style == ["--low:66.67%;--high:100%;--mean:83.33%", "--low:0%;--high:33.33%;--mean:16.67%"]


def test_swept_option_has_row_for_each_value(tmp_path: Path) -> None:
    record = rows()
    of = summary(record)
    points = [{"value": 1, "name": "ppr"}, {"value": None, "name": "bm25"}]
    of["sweeps"] = [{"method": "ppr", "option": "k", "with": {"mode": "'a'"}, "points": points}]
    page = written(tmp_path, record, of)
    assert text(page.css_first("#options caption")) == "k of ppr, mode = 'a'"
    table = cells(page, "#options table")
    assert [line[0] for line in table] == ["1", "None"]
    for line, name in zip(table, ("ppr", "bm25"), strict=True):
        method = of["methods"][name]
        assert line[1].startswith(f"{100 * method['metrics']['recall@5']['mean']:.1f}")
        assert line[-1] == f"{method['milliseconds']['p50']:.0f}"


def test_page_shows_primary_metric_first(tmp_path: Path) -> None:
    page = written(tmp_path, rows())
    parts = page.css("[data-metric]")
    shown = {item.attributes["data-metric"] for item in parts if "hidden" not in item.attributes}
    assert shown == {"recall@5"} and {item.attributes["data-metric"] for item in parts} == {
        "recall@5",
        "ndcg@10",
        "exact match",
    }
    options = [text(item) for item in page.css("#groups select.choose-metric option")]
    assert options == ["recall@5", "ndcg@10", "exact match"]


def test_steps_and_groups_match_summary(tmp_path: Path) -> None:
    record = rows()
    of = summary(record)
    page = written(tmp_path, record, of)
    name, *steps = page.css(".steps tbody")[0].css("tr")
    assert text(name) in of["methods"]
    assert [text(step.css("td")[-1]) for step in steps] == ["–", "90.0", "60.0"]
    assert [text(step.css("td")[3]) for step in steps] == [
        milliseconds(step["mean"]) for step in of["methods"][text(name)]["steps"]
    ]
    table = cells(page, "[data-metric='recall@5'] .groups-table")
    groups = {name: method["breakdown"]["type"] for name, method in of["methods"].items()}
    for name, *means in table:
        expected = [groups[name][group]["metrics"]["recall@5"] for group in ("bridge", "comparison")]
        assert means == [f"{100 * mean:.1f}" for mean in expected]


def test_page_loads_nothing_remote(hostile: tuple[Path, HTMLParser]) -> None:
    page = hostile[1]
    for node in page.css("*"):
        named = {
            name: node.attributes[name] or ""
            for name in ("src", "href", "srcset", "data", "action")
            if name in node.attributes
        }
        assert all(value.startswith("#") for value in named.values()), (node.tag, named)
    assert not page.css("link, iframe, object, embed, img, base, form")
    style = page.css_first("style")
    assert style is not None and "url(" not in style.text() and "@import" not in style.text()


def test_page_runs_its_own_script_only(hostile: tuple[Path, HTMLParser]) -> None:
    page = hostile[1]
    policy = page.css_first("meta[http-equiv='Content-Security-Policy']")
    assert policy is not None
    allowed = policy.attributes["content"] or ""
    scripts = [item for item in page.css("script") if item.attributes.get("type") != "application/json"]
    digest = base64.b64encode(hashlib.sha256(scripts[0].text().encode()).digest()).decode()
    assert len(scripts) == 1 and f"script-src 'sha256-{digest}'" in allowed and "default-src 'none'" in allowed
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", scripts[0].text())


def test_hostile_texts_are_shown_as_text(hostile: tuple[Path, HTMLParser]) -> None:
    page = hostile[1]
    assert page.css_first("b:not(td > b):not(li > b)") is None  # of our own, not of a text
    assert not any(text(item) == "bold" for item in page.css("b, i"))
    names = {item.text() for item in page.css(".board tbody th bdi")}
    assert {HOSTILE[0], HOSTILE[1], HOSTILE[3], HOSTILE[4], HOSTILE[6], "\ufffdgnirts a", "half \ufffd pair"} <= names
    assert len(page.css("script")) == 2 and len(page.css("head > title")) == 1
    assert text(page.css_first("head > title")).startswith(HOSTILE[0])
    assert text(page.css_first(".failures")).count("BudgetError: ") == len(HOSTILE)


def test_page_has_no_direction_controls(hostile: tuple[Path, HTMLParser]) -> None:
    page = (hostile[0] / "report.html").read_text(encoding="utf-8")
    before, _, rest = page.partition('id="data">')
    assert not re.search("[\x00-\x08\x0e-\x1f\u202a-\u202e]", before + rest.partition("</script>")[2])


def test_hostile_texts_reach_script_unchanged(hostile: tuple[Path, HTMLParser]) -> None:
    record = data(hostile[1])
    assert sorted(record["methods"]) == sorted(HOSTILE)
    assert {item["t"] for item in record["questions"]} == set(HOSTILE)
    assert record["questions"][0]["a"] == list(HOSTILE[:5])[: len(record["questions"][0]["a"])]
    raw = (hostile[0] / "report.html").read_text(encoding="utf-8").partition('id="data">')[2].partition("</script>")[0]
    assert not re.search("[<>&\u2028\u2029]", raw)


def test_failed_questions_show_error(tmp_path: Path) -> None:
    nothing = {"documents": [], "evidence": [], "answer": None, "steps": []}
    record = rows(("vector", "ppr"))
    record[-1] = row("ppr", "q5", recall=0.0, error="BudgetError: 100 tokens are spent", **nothing)
    page = written(tmp_path, record)
    assert cells(page, ".failures") == [["ppr", "Which river is number 5?", "BudgetError: 100 tokens are spent"]]
    assert "ppr failed on 1 question, counted as 0: BudgetError: 100 tokens are spent." in text(
        page.css_first("header")
    )
    assert text(page.css_first("tr th .chip.bad")) == "1 failed"
    result = data(page)
    assert result["rows"]["5"][result["methods"].index("ppr")]["x"] == "BudgetError: 100 tokens are spent"
    assert not any("q5" in line for line in (tmp_path / "runs/ppr.trec").read_text().splitlines())


def test_failed_run_has_page(tmp_path: Path) -> None:
    record = [row(m, f"q{at}", recall=0.0, error="ModelError: no server") for m in ("a", "b") for at in range(3)]
    page = written(tmp_path, record)
    message = "a failed on every question, so that nothing is known of its quality: ModelError: no server."
    assert text(page.css_first(".lead")) == message
    assert not page.css(".board tbody td")


def test_single_method_has_no_comparison(tmp_path: Path) -> None:
    page = written(tmp_path, rows(("ppr",)))
    assert text(page.css_first("h1")) == "ppr measured on 6 questions over the 9 documents of rivers"
    assert "Next is" not in text(page.css_first("header"))
    assert page.css_first("#options") is None
    assert "against" not in text(page.css_first(".board"))
    assert page.css_first(".chip") is None


def test_untested_methods_are_shown(tmp_path: Path) -> None:
    record = rows()
    of = summary(record)
    for method in of["methods"].values():
        method["against_baseline"] = None
    page = written(tmp_path, record, of)
    assert "against" not in text(page.css_first(".board thead"))
    assert not re.search(r"p [=<]", text(page.css_first("header")))


def test_unknown_values_are_omitted(tmp_path: Path) -> None:
    record = [row(m, "q0", recall=r, steps=[]) for m, r in (("a", 0.1), ("b", 0.2))]
    of = summary([{**item, "steps": []} for item in record])
    for method in of["methods"].values():
        method |= {"steps": [], "breakdown": {}}
    page = written(tmp_path, record, of)
    assert [item.attributes["id"] for item in page.css("section")] == [
        "leaderboard",
        "questions",
        "repeat",
    ]
    links = [item.attributes["href"] for item in page.css("nav a")]
    assert links == ["#leaderboard", "#questions", "#repeat"]


def test_forty_methods_are_shown(tmp_path: Path) -> None:
    page = written(tmp_path, rows(MANY, 3))
    assert sorted(line[0] for line in cells(page, ".board")) == sorted(MANY)
    assert len(page.css("#steps details tbody")) == 40
    assert text(page.css_first("h1")).startswith("40 methods compared on 3 questions")


def test_page_without_script_says_so(tmp_path: Path) -> None:
    page = written(tmp_path, rows())
    assert "needs JavaScript" in text(page.css_first("#questions .no-js"))
    noscript = page.css_first("head noscript")
    assert noscript is not None and ".variant[hidden]{display:block" in noscript.html  # type: ignore[operator]


def test_judged_answers_are_shown(tmp_path: Path) -> None:
    record = rows()
    judge = {**judged(["vector", "ppr"]), "model": "overlap", "position bias": 0.125, "unreadable": 3}
    page = written(tmp_path, record, summary(record, judge=judge))
    message = text(page.css_first("#judge .about"))
    assert (
        "Judge: overlap." in message and "disagreed in 12.5 %" in message and "3 replies could not be read" in message
    )
    assert cells(page, "#judge .judged:not(.wins)") == [["vector", "60.0", "6"], ["ppr", "60.0", "6"]]
    assert cells(page, "#judge .wins") == [["vector", "70.0"], ["ppr", "70.0"]]
    assert written(tmp_path, record).css_first("#judge") is None


def test_ranked_items_are_named_by_corpus(tmp_path: Path) -> None:
    record = rows()
    of = summary(record)
    assert data(written(tmp_path, record, of))["places"] == "Documents"
    assert "extraction by lexical" in text(written(tmp_path, record, of).css_first("header"))
    of["data"] = {"name": "films", "over": "graph", "documents": 0, "nodes": 20, "edges": 30, "questions": 6}
    page = written(tmp_path, record, of)
    assert data(page)["places"] == "Nodes" and "extraction by" not in text(page.css_first("header"))


def test_word_judge_is_described(tmp_path: Path) -> None:
    record = rows()
    judge = {**judged(["vector", "ppr"]), "model": OverlapJudge().id}
    message = text(written(tmp_path, record, summary(record, judge=judge)).css_first("#judge .about"))
    assert "F1 >= 0.5" in message and "all words of an accepted answer in a row" in message
    other = written(tmp_path, record, summary(record, judge={**judge, "model": "gpt"}))
    assert "in a row" not in text(other.css_first("#judge"))


def test_judge_without_comparisons_has_no_win_rates(tmp_path: Path) -> None:
    record = rows()
    judge = {**judged(["vector", "ppr"]), "wins": {"ppr": {}, "bm25": {}}}
    page = written(tmp_path, record, summary(record, judge=judge))
    assert page.css_first("#judge .wins") is None and "win rate" not in text(page.css_first("#judge")).lower()


MARKUP = '<p title="{{ text }}">{{ text }}</p>'
TEXTS = st.text() | st.sampled_from(HOSTILE)


def rendered(source: str, **values: str) -> str:
    return environment().from_string(source).render(values)


@given(TEXTS, TEXTS)
def test_any_text_is_well_formed_xml(child: str, attribute: str) -> None:
    root = ElementTree.fromstring(
        rendered('<p title="{{ attribute }}">{{ child }}</p>', child=child, attribute=attribute)
    )
    assert list(root) == [] and set(root.attrib) == {"title"}


@given(st.recursive(TEXTS | st.integers() | st.none(), lambda item: st.lists(item) | st.dictionaries(TEXTS, item)))
def test_json_in_script_round_trips(value: object) -> None:
    text = script_json(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029") and "\n" not in text
    text.encode()


@given(TEXTS)
def test_names_keep_all_letters(name: str) -> None:
    shown = "".join(ElementTree.fromstring(rendered("{{ name | named }}", name=name).replace("<wbr>", "")).itertext())
    assert shown == "".join(ElementTree.fromstring(rendered(MARKUP, text=name)).itertext())
