"""Create, list and revoke the keys of the server."""

from __future__ import annotations

import getpass
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphwright.cli.options import AsJson, expanded
from graphwright.cli.terminal import console, note, plain_table, print_json, say
from graphwright.errors import OptionError

if TYPE_CHECKING:
    from graphwright.serve.security.keys import Key, Keys

keys = typer.Typer(no_args_is_help=True, help="Create, list and revoke keys of the server.")
Data = Annotated[Path | None, "Folder of keys and jobs, as for 'serve' (default: the platform's data folder)."]
_COLUMNS = ("id", "name", "scope", "indexes", "state", "expires", "used")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
_HEADER = "Authorization: Bearer KEY"
_UNITS = {"h": 3_600, "d": 86_400, "w": 604_800, "y": 31_536_000}


@keys.command()
@expanded
def create(
    name: Annotated[str, typer.Argument(help="Name of the holder, for lists and the audit log.")],
    scope: Annotated[str, "Rights: read, write (documents too) or admin."] = "read",
    index: Annotated[list[str] | None, "Name of an index that the key sees (default: all). Repeatable."] = None,
    expires: Annotated[str | None, "Expiry of the key: 12h, 90d, 2w, 1y or a date (default: never)."] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it.

    The key is shown only once. From then on a running server requires a key.
    """
    now = time.time()
    with _opened(data) as opened:
        token, key = opened.create(name, scope, index, None if expires is None else _end(expires, now))
        if as_json:
            print_json({"key": token, **_facts(key, now)})
        else:
            say(token)
            note(f"Key {key.id} with scope {key.scope}. It is shown only now; clients send it as {_HEADER}.")
        if index:
            note("Names of indexes are not checked here; the server logs a warning for unknown ones.")
        _audit(opened, "keys create", key)  # last, because an error must not prevent that the key is shown


@keys.command("list")
@expanded
def list_(data: Data = None, as_json: AsJson = False) -> None:
    """List the keys, without their secrets."""
    from graphwright.serve.security.authentication import create_command
    from graphwright.serve.settings import default_data_folder

    now = time.time()
    with _opened(data) as opened:
        rows = [_facts(key, now) for key in opened.all()]
    if as_json:
        print_json(rows)
    elif not rows:
        note(f"There are no keys. Make one: {create_command(data or default_data_folder())}")
    else:
        table = plain_table()
        for name in _COLUMNS:
            table.add_column(name, overflow="fold")
        for row in rows:
            table.add_row(*(_shown(row[name]) for name in _COLUMNS))
        console().print(table)


@keys.command()
@expanded
def revoke(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of keys, see 'graphwright keys list'.")],
    data: Data = None,
) -> None:
    """Revoke keys at once, and end their sessions."""
    with _opened(data) as opened:
        for id in ids:
            key = opened.revoke(id)
            _audit(opened, "keys revoke", key)
            note(f"Key {key.id} ({key.name}) is revoked.")


@contextmanager
def _opened(data: Path | None) -> Iterator[Keys]:
    from graphwright.serve.security.keys import Keys
    from graphwright.serve.settings import default_data_folder

    opened = Keys(data or default_data_folder())
    try:
        yield opened
    finally:
        opened.close()


def _audit(opened: Keys, action: str, key: Key) -> None:
    from graphwright.serve.telemetry.logs import AuditLog

    facts = {"target": key.id, "target_name": key.name, "target_scope": key.scope, "target_indexes": key.indexes}
    AuditLog(opened.path.parent).write({"action": action, "name": _user(), **facts})


def _user() -> str:
    """Return the name of the user, or the uid if it has no name, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def _end(text: str, now: float) -> float:
    """Return the end of a duration, or a date (midnight in UTC), in seconds since 1970.

    >>> _end("2d", 1000.0), _end("2030-01-01", 0.0)
    (173800.0, 1893456000.0)
    """
    match = re.fullmatch(r"(\d{1,6})([hdwy])", text)
    if match is not None:
        return now + int(match[1]) * _UNITS[match[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise OptionError(f"--expires is {text!r}; give 12h, 90d, 2w, 1y, or a date such as 2030-01-31.") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _facts(key: Key, now: float) -> dict[str, Any]:
    times = {name: _time(getattr(key, name)) for name in ("created", "expires", "used", "revoked")}
    indexes = ["all"] if key.indexes is None else list(key.indexes)
    return {"id": key.id, "name": key.name, "scope": key.scope, "indexes": indexes, "state": key.state(now), **times}


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _shown(value: Any) -> str:
    """Return a value for the table; for a time only its date."""
    text = ", ".join(value) if isinstance(value, list) else str(value or "")
    return text[:10] if _TIME.match(text) else text
