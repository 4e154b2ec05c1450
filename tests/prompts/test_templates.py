"""Prompts: every file can be filled, values are inserted unchanged, and missing ones are named."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from string import Template

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.errors import OptionError
from graphwright.prompts.templates import PROMPTS, Prompts, data_line, prompts_of_index, spaced_tokens

TEXTS = {
    Path(str(p)).stem: p.read_text("utf-8") for p in files("graphwright.prompts").iterdir() if p.name.endswith(".txt")
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_prompt_fills_into_two_parts(name: str) -> None:
    template = Template(TEXTS[name])
    assert template.is_valid()
    values = {place: f"<{place}>" for place in template.get_identifiers()}
    system, user = PROMPTS.messages(name, **values)
    assert system and user
    for value in values.values():
        assert value in system + user
    assert not re.search(r"\$\{?\w", system + user)


@pytest.mark.parametrize("value", ["$passage ${found} $$", "a\n---\nb", "\\1 \\g<0> {0} %s", "{}", "", "日本語 \u2028"])
def test_filled_value_is_verbatim(value: str) -> None:
    system, user = PROMPTS.messages("extract", passage=value)
    assert system == PROMPTS.messages("extract", passage="other")[0]
    assert user == f"The passage:\n{value}"


def test_missing_value_raises_with_its_name() -> None:
    with pytest.raises(OptionError, match="'extract_again' needs 'found'; it was given 'rules', 'passage'"):
        PROMPTS.messages("extract_again", rules="r", passage="p")
    with pytest.raises(OptionError, match="needs 'passage'; it was given no values"):
        PROMPTS.messages("extract")


@pytest.mark.parametrize("name", ["nothing", "../errors", "__init__", "extract.txt", ""])
def test_unknown_prompt_raises_and_lists_known(name: str) -> None:
    with pytest.raises(OptionError, match=r"There is no prompt .*\. Give one of .*extract, extract_again"):
        PROMPTS.messages(name)


def test_prompts_checksum_changes_with_any_word(tmp_path: Path) -> None:
    assert PROMPTS.checksum("extract", "extract_again") != PROMPTS.checksum("extract_again", "extract")
    # A copy of the package stands for another version of it.
    shutil.copytree(str(files("graphwright.prompts")), tmp_path / "prompts")
    shutil.copy(str(files("graphwright") / "errors.py"), tmp_path / "errors.py")
    (tmp_path / "__init__.py").touch()
    changed = tmp_path / "prompts" / "extract_again.txt"
    changed.write_text(changed.read_text("utf-8").replace("missed", "forgotten"), "utf-8")
    code = (
        "import sys, types; package = types.ModuleType('graphwright'); package.__path__ = [sys.argv[1]]\n"
        "sys.modules['graphwright'] = package; from graphwright.prompts.templates import PROMPTS\n"
        "print(PROMPTS.checksum('extract'), PROMPTS.checksum('extract_again'))"
    )
    out = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    same, other = out.stdout.split()
    assert same == PROMPTS.checksum("extract") and other != PROMPTS.checksum("extract_again")


@given(st.dictionaries(st.text(), st.lists(st.text(st.sampled_from('<|/sg>[INST] \x85\u2028\n\x00"\\\\é東')))))
def test_data_line_is_one_line_of_json(value: dict[str, list[str]]) -> None:
    line = data_line(value)
    assert json.loads(line) == value
    assert len(line.splitlines()) == 1
    assert not re.search(r"<[^\s\\]|\[/?[a-z]*[A-Z]{2,}\]|\[\|", line)


@pytest.mark.parametrize("token", ["[INST]", "[/INST]", "[TOOL_CALLS]", "[gMASK]", "[|user|]", "[|endofturn|]"])
def test_chat_template_tokens_are_escaped_in_data_and_spaced_in_own_brackets(token: str) -> None:
    assert token not in data_line(token) and json.loads(data_line(token)) == token
    assert spaced_tokens(f"a → {token} → b") == f"a → [ {token[1:-1]} ] → b"
    assert data_line(spaced_tokens(token)) == f'"[ {token[1:-1]} ]"'


@pytest.mark.parametrize("text", ["[directed_by]", "[manufacturer]", "[hasGenre]", "[sic]", "[1]", "[born in]"])
def test_words_in_brackets_stay_readable(text: str) -> None:
    assert data_line(text) == f'"{text}"' and spaced_tokens(text) == text


def test_lone_surrogate_is_escaped() -> None:
    assert data_line("a\ud800b") == '"a\\ud800b"'
    assert json.loads(data_line("a\udc00b")) == "a\udc00b"


def test_file_replaces_prompt_and_its_checksum(tmp_path: Path) -> None:
    (tmp_path / "extract.txt").write_text("# mine\nBe brief; it costs $$5.\n---\nRead: ${passage}\n", encoding="utf-8")
    own = Prompts.of(tmp_path)
    assert own.messages("extract", passage="p") == ("Be brief; it costs $5.", "Read: p")
    assert own.messages("describe", lines="l") == PROMPTS.messages("describe", lines="l")
    assert own.checksum("extract") != PROMPTS.checksum("extract")
    assert own.checksum("describe") == PROMPTS.checksum("describe")
    assert Prompts.of(tmp_path / "none") == PROMPTS


def test_copy_of_prompt_is_that_prompt(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        if name in prompts_of_index():
            (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    own = Prompts.of(tmp_path)
    assert {name for name, _ in own.replaced} == set(prompts_of_index())
    assert own.checksum(*prompts_of_index()) == PROMPTS.checksum(*prompts_of_index())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "extract.txt",
            "Read.\n---\nIt.",
            r"extract\.txt lacks the field \$\{passage\}\. Its fields are \$\{passage\}",
        ),
        ("extract.txt", "${passage}\n---\n${text}", r"has the field \$\{text\}, which is unknown"),
        ("extract.txt", "${passage}", "has 1 part; write two"),
        ("extract.txt", "$5\n---\n${passage}", r"write it as \$\$"),
        ("extrakt.txt", "${passage}\n---\nIt.", r"is no prompt of an index.*Did you mean 'extract'\?"),
        ("extract.md", "${passage}\n---\nIt.", "is no prompt of an index"),
        ("judge_accuracy.txt", "${passage}\n---\nIt.", "is no prompt of an index"),
    ],
)
def test_file_that_fits_no_prompt_raises_with_its_name(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(OptionError, match=message):
        Prompts.of(tmp_path)


def test_unreadable_file_raises_with_folder(tmp_path: Path) -> None:
    (tmp_path / "extract.txt").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(OptionError, match="a prompt cannot be read"):
        Prompts.of(tmp_path)


def test_every_prompt_of_index_says_what_it_is_for() -> None:
    purposes = prompts_of_index()
    assert len(purposes) == len(TEXTS) - 3
    assert all(purpose.endswith(".") and len(purpose) < 120 for purpose in purposes.values())
    assert not any(PROMPTS.text(name).startswith("#") for name in TEXTS)
