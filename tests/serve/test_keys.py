"""Keys and sessions: who is let in, until when, and what the file tells."""

from __future__ import annotations

import hmac
import multiprocessing
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from graphwright.errors import OptionError
from graphwright.serve.keys import KEY_FILE, Keys


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(tmp_path: Path, clock: Clock) -> Iterator[Keys]:
    with closing(Keys(tmp_path / "data", clock)) as opened:
        yield opened


@pytest.fixture
def elsewhere(tmp_path: Path, clock: Clock) -> Iterator[Keys]:
    """The same file, as another process has it open."""
    with closing(Keys(tmp_path / "data", clock)) as opened:
        yield opened


def test_key_grants_its_scope_and_indexes(keys: Keys) -> None:
    grant = keys.check(keys.create("wiki page", "write", ["wiki"])[0])
    assert grant is not None and grant.name == "wiki page"
    assert grant.may("read") and grant.may("write") and grant.sees("wiki")
    assert not grant.may("admin") and not grant.sees("mail")


@pytest.mark.parametrize(
    "change", [lambda t: t[:-1], lambda t: t + "A", lambda t: t.upper(), lambda t: "", lambda t: f" {t}"]
)
def test_changed_key_is_refused(keys: Keys, change: object) -> None:
    token, _ = keys.create("reader")
    assert keys.check(token) is not None
    assert keys.check(change(token)) is None  # type: ignore[operator]


def test_every_secret_character_counts(keys: Keys) -> None:
    token, _ = keys.create("reader")
    for at in range(len("gw_01234567_"), len(token)):
        assert keys.check(token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]) is None


def test_expired_key_is_refused(keys: Keys, clock: Clock) -> None:
    token, _ = keys.create("guest", expires=clock.now + 60)
    assert keys.check(token) is not None
    clock.now += 60
    assert keys.check(token) is None and keys.all()[0].state(clock.now) == "expired"
    with pytest.raises(OptionError, match="later time"):
        keys.create("late", expires=clock.now)
    assert keys.exist()  # a server whose keys have all ended stays closed


def test_revoked_key_is_refused_in_all_processes(keys: Keys, elsewhere: Keys) -> None:
    assert not elsewhere.exist()
    token, key = keys.create("reader")
    assert elsewhere.exist() and elsewhere.check(token) is not None
    first = keys.revoke(key.id)
    assert elsewhere.check(token) is None and keys.check(token) is None and elsewhere.exist()
    assert keys.revoke(key.id) == first
    with pytest.raises(OptionError, match="no key 'ffffffff'"):
        keys.revoke("ffffffff")


@pytest.mark.parametrize(
    ("name", "scope", "indexes"),
    [("", "read", None), ("a\nb", "read", None), ("a", "root", None), ("a", "read", "wiki")],
)
def test_create_key_with_invalid_arguments_raises_error(keys: Keys, name: str, scope: str, indexes: object) -> None:
    with pytest.raises(OptionError):
        keys.create(name, scope, indexes)  # type: ignore[arg-type]
    assert not keys.exist()


def test_key_file_is_private_without_token(keys: Keys, tmp_path: Path) -> None:
    token, key = keys.create("reader")
    session, _ = keys.open_session(key, 60)
    keys.close()
    secret = token.removeprefix(f"gw_{key.id}_")
    for file in (tmp_path / "data").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        content = file.read_bytes()
        assert secret.encode() not in content and session.encode() not in content
    (tmp_path / "data" / KEY_FILE).chmod(0o644)
    Keys(tmp_path / "data").close()
    assert stat.S_IMODE((tmp_path / "data" / KEY_FILE).stat().st_mode) == 0o600


def test_key_file_in_index_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "index.sqlite").touch()
    for folder in ("wiki", "wiki/data", "wiki/a/b"):
        with pytest.raises(OptionError, match="inside the index"):
            Keys(tmp_path / folder)


def test_unknown_key_id_takes_same_path(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    token, key = keys.create("reader")
    compared: list[tuple[str, str]] = []
    compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((a, b)) or compare(a, b))  # type: ignore[func-returns-value]
    unknown = ("0" if key.id[0] != "0" else "1") + key.id[1:]
    for sent in (token, token.replace(key.id, unknown), token[:-1] + ("A" if token[-1] != "A" else "B")):
        keys.check(sent)
    assert len(compared) == 3 and all(len(a) == len(b) == 64 for a, b in compared)


def test_last_use_is_recorded_once_minute(keys: Keys, clock: Clock) -> None:
    token, _ = keys.create("reader")
    uses = []
    for _ in range(5):
        keys.check(token)
        uses.append(keys.all()[0].used)
        clock.now += 25
    assert uses == [1_000_000, 1_000_000, 1_000_000, 1_000_075, 1_000_075]


def test_session_ends_by_time_sign_out_or_key(keys: Keys, clock: Clock) -> None:
    _, key = keys.create("page", "read", ["wiki"])
    first, seconds = keys.open_session(key, 3600)
    second, _ = keys.open_session(key, 3600)
    third, _ = keys.open_session(key, 10)
    assert seconds == 3600 and keys.session(first) == key
    clock.now += 10
    assert keys.session(third) is None
    keys.close_session(first)
    assert keys.session(first) is None and keys.session(second) == key
    keys.revoke(key.id)
    assert keys.session(second) is None
    assert keys.session("gws_" + "A" * 43) is None and keys.session("") is None


def _create_and_revoke(folder: Path, number: int) -> tuple[str, str]:
    keys = Keys(folder)
    kept, _ = keys.create(f"kept {number}")
    revoked, key = keys.create(f"revoked {number}")
    keys.revoke(key.id)
    keys.close()
    return kept, revoked


def test_concurrent_key_changes_are_kept(tmp_path: Path, elsewhere: Keys) -> None:
    folder = tmp_path / "data"
    with ThreadPoolExecutor(6) as threads:
        pairs = list(threads.map(lambda number: _create_and_revoke(folder, number), range(12)))
    with multiprocessing.get_context("spawn").Pool(2) as processes:
        pairs += processes.starmap(_create_and_revoke, [(folder, number) for number in (12, 13)])
    assert len(elsewhere.all()) == 28
    for kept, revoked in pairs:
        assert elsewhere.check(kept) is not None and elsewhere.check(revoked) is None


def test_threads_share_key_object(keys: Keys) -> None:
    token, _ = keys.create("reader")

    def use(number: int) -> bool:
        if number % 10 == 0:
            keys.revoke(keys.create(f"short {number}")[1].id)
        return keys.check(token) is not None

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(use, range(100)))
    assert len(keys.all()) == 11


def test_key_follows_renamed_index_and_loses_deleted_one(keys: Keys) -> None:
    token, _ = keys.create("reader", "read", ["wiki", "mail"])
    everything, _ = keys.create("all")
    keys.rename_index("wiki", "handbook")
    grant = keys.check(token)
    assert grant is not None and grant.indexes == ("handbook", "mail")
    keys.rename_index("mail", None)
    keys.rename_index("handbook", None)
    grant, other = keys.check(token), keys.check(everything)
    assert grant is not None and grant.indexes == () and other is not None and other.indexes is None
