"""Comments of configuration files, and the settings that they are about."""

from __future__ import annotations

import pytest

from graphwright.data.formats.parsing.comments import (
    Finder,
    commented_settings,
    ini_comments,
    toml_comments,
    yaml_comments,
)


def test_commented_settings_yaml_comment_stands_with_the_path_of_its_setting() -> None:
    text = "replicas: 2\nimage:\n  name: don't\n  # The chart's version\n  # by default.\n  tag: 'a # b'  # pinned\n"
    assert commented_settings(text, yaml_comments) == (
        "The chart's version\nby default.\nimage › tag: 'a # b'  # pinned"
    )


def test_commented_settings_number_sign_in_a_block_or_word_is_no_comment() -> None:
    assert commented_settings("script: |\n  # make it\n  make\nissue: a#4\n", yaml_comments) == ""


def test_commented_settings_toml_comment_at_the_end_stands_with_the_line_above() -> None:
    text = '[[job]]\nname = "wiki # 2"\n# restored in 25 minutes\n\n[[job]]\nname = "files"\n'
    assert commented_settings(text, toml_comments) == 'job › name = "wiki # 2"\nrestored in 25 minutes'


def test_commented_settings_ini_comment_before_a_section_and_after_a_value() -> None:
    text = "; for all hosts\n[collector]\ninterval = 15s  ; was 60s\ncolour = #fff\n"
    assert commented_settings(text, ini_comments) == (
        "for all hosts\n[collector]\n\ncollector › interval = 15s  ; was 60s"
    )


@pytest.mark.parametrize("indent", ["", "  "])
def test_commented_settings_yaml_item_of_a_list_is_named_by_its_first_line(indent: str) -> None:
    text = f"rules:\n{indent}- alert: Disk # 1\n{indent}  for: 10m\n{indent}- alert: Lag\n{indent}  limit: 64  # MB\n"
    assert commented_settings(text, yaml_comments) == (
        "rules › - alert: Disk # 1\n\nrules › alert: Lag › limit: 64  # MB"
    )


@pytest.mark.parametrize("find", [yaml_comments, toml_comments, ini_comments])
def test_commented_settings_rulers_and_files_without_comments_give_nothing(find: Finder) -> None:
    assert commented_settings("", find) == commented_settings("#######\n", find) == ""
