"""The files for containers and systemd name commands, options and settings that exist."""

from __future__ import annotations

import re
import shlex
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from tests.cli.command import graphwright

from graphwright import Index
from graphwright.errors import OptionError
from graphwright.serve.settings import ServeSettings, read_server_file

ROOT = Path(__file__).parents[2]
UNIT = (ROOT / "deploy" / "graphwright.service").read_text()
COMPOSE = (ROOT / "compose.yaml").read_text()
IMAGE = (ROOT / "Dockerfile").read_text()
PAGE = (ROOT / "docs" / "deploy.md").read_text()


def block(name: str) -> str:
    """The file of the page on deploying."""
    return str(re.search(rf"<!-- file: {name} -->\n```toml\n(.*?)```", PAGE, re.S)[1])  # type: ignore[index]


@pytest.mark.parametrize("content", [(ROOT / "deploy" / "server.toml").read_text(), block("server.toml")])  # fmt: skip
def test_documented_settings_equal_server_settings(content: str, tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_text(content)
    settings = read_server_file(tmp_path / "server.toml")
    assert settings.allowed_hosts


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("host = 5", "host is 5; it must be text"),
        ("host = [[1]]", "host is .*; it must be text"),
        ('allow_write = "yes"', "allow_write is 'yes'; it must be true or false"),
        ("allowed_hosts = [1]", "allowed_hosts is .*; it must be a list of texts"),
        ("encoders = 5", "encoders is 5; it must be a list of texts"),
        ("public_url = nan", "public_url is nan; it must be"),
        ("data = 5", "data is 5; it must be a path"),
        ('data = "~nobody-here/x"', "data is '~nobody-here/x': .* Give the whole path"),
        ("llm = 5", r"llm is 5; it must be a section, begun by a line \[llm\]"),
        ("folders = 5", "folders is 5; it must be a section"),
        ("folders.cities = 5", "folders.cities is 5; it must be a section"),
        ("folders.cities.reports = 5", "reports is 5; it must be a path"),
        ("folders.cities.x = {address = 5}", "x.address is 5; it must be a path"),
        ("folders.cities.x = {adress = 'a'}", "x has 'adress'; a source has an address and perhaps every"),
        ("folders.cities.x = {address = 'a', every = '1h'}", "x: SyncSource: every is '1h'; it must be a number"),
        ("model_servers = 5", r"\[model_servers\] is 5; it must be a section"),
        ("model_servers = [{base_url = 5}]", "base_url is 5; it must be text"),
    ],
)
def test_setting_of_other_type_is_refused_by_name(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(OptionError, match=message):
        read_server_file(tmp_path / "server.toml")


def shown(value: object) -> str:
    """A default as the page writes it."""
    if value in (None, (), ""):
        return "none"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2**20:
        return f"{value // 2**20} MB"
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def test_documented_settings_have_their_defaults() -> None:
    table = PAGE[PAGE.index("| setting |") :].partition("\n\n")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (.*?) \| ", table, re.M)
    sections = {"llm", "models", "model_servers", "folders"}
    listed = {name for names, _ in rows for name in re.findall(r"\w+", names)}
    assert listed == {field.name for field in fields(ServeSettings)} - sections
    for names, defaults in rows:
        for name, default in zip(re.findall(r"\w+", names), defaults.replace("`", "").split(", "), strict=True):
            value = getattr(ServeSettings(), name)
            assert default in (shown(value), "processors", "by platform") or (
                default == "no limit" and value is None
            ), name


def test_unit_and_container_commands_exist() -> None:
    command = re.search(r"^ExecStart=\S+/graphwright (.*)$", UNIT, re.M)
    listed = re.search(r"command: \[(.*?)\]", COMPOSE, re.S)
    assert command is not None and listed is not None
    for words in (shlex.split(command[1]), re.findall(r'"(.*?)"', listed[1])):
        usage = graphwright(words[0], "--help").stdout
        assert all(word in usage for word in words if word.startswith("--"))


def test_image_runs_unprivileged_with_health_check() -> None:
    stages = IMAGE.split("\nFROM ")
    assert len(stages) == 3 and "USER 10001" in stages[2] and "HEALTHCHECK" in stages[2] and "/healthz" in stages[2]
    assert '".[serve,watch]"' in stages[1]
    assert "pip install" not in stages[2]  # nothing is built in the image that runs
    for line in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true", '"127.0.0.1:8000:8000"'):
        assert line in COMPOSE


def test_server_reads_pdf_and_office_without_another_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert "graphwright[documents]" in extras["serve"]


def test_sources_of_image_are_not_ignored() -> None:
    kept = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.M)
    copied = [name for line in re.findall(r"^COPY (?!--from)(.*) \S+$", IMAGE, re.M) for name in line.split()]
    assert sorted(kept) == sorted(copied) and all((ROOT / name).exists() for name in copied)


def test_reachable_server_needs_key(tmp_path: Path) -> None:
    Index.create(tmp_path / "wiki").close()
    done = graphwright("serve", tmp_path / "wiki", "--host", "0.0.0.0", "--port", 0, "--data", tmp_path / "data")
    assert done.returncode == 2 and "graphwright keys create NAME" in done.stderr
