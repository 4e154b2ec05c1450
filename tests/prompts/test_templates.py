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
from graphwright.prompts.templates import checksum, data_line, messages, spaced_tokens

TEXTS = {
    Path(str(p)).stem: p.read_text("utf-8") for p in files("graphwright.prompts").iterdir() if p.name.endswith(".txt")
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_prompt_fills_into_two_parts(name: str) -> None:
    template = Template(TEXTS[name])
    assert template.is_valid()
    values = {place: f"<{place}>" for place in template.get_identifiers()}
    system, user = messages(name, **values)
    assert system and user
    for value in values.values():
        assert value in system + user
    assert not re.search(r"\$\{?\w", system + user)


@pytest.mark.parametrize("value", ["$passage ${found} $$", "a\n---\nb", "\\1 \\g<0> {0} %s", "{}", "", "日本語 \u2028"])
def test_filled_value_is_verbatim(value: str) -> None:
    system, user = messages("extract", passage=value)
    assert system == messages("extract", passage="other")[0]
    assert user == f"The passage:\n{value}"


def test_missing_value_raises_with_its_name() -> None:
    with pytest.raises(OptionError, match="'extract_again' needs 'found'; it was given 'rules', 'passage'"):
        messages("extract_again", rules="r", passage="p")
    with pytest.raises(OptionError, match="needs 'passage'; it was given no values"):
        messages("extract")


@pytest.mark.parametrize("name", ["nothing", "../errors", "__init__", "extract.txt", ""])
def test_unknown_prompt_raises_and_lists_known(name: str) -> None:
    with pytest.raises(OptionError, match=r"There is no prompt .*\. Give one of .*extract, extract_again"):
        messages(name)


def test_prompts_checksum_changes_with_any_word(tmp_path: Path) -> None:
    assert checksum("extract", "extract_again") != checksum("extract_again", "extract")
    # A copy of the package stands for another version of it.
    shutil.copytree(str(files("graphwright.prompts")), tmp_path / "prompts")
    shutil.copy(str(files("graphwright") / "errors.py"), tmp_path / "errors.py")
    (tmp_path / "__init__.py").touch()
    changed = tmp_path / "prompts" / "extract_again.txt"
    changed.write_text(changed.read_text("utf-8").replace("missed", "forgotten", 1), "utf-8")
    code = (
        "import sys, types; package = types.ModuleType('graphwright'); package.__path__ = [sys.argv[1]]\n"
        "sys.modules['graphwright'] = package; from graphwright.prompts.templates import checksum\n"
        "print(checksum('extract'), checksum('extract_again'))"
    )
    out = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    same, other = out.stdout.split()
    assert same == checksum("extract") and other != checksum("extract_again")


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
