"""Logs of the server: structured lines with request ids, without secrets, and the audit log of changes."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from textwrap import indent
from typing import Any, TextIO

AUDIT_FILE = "audit.jsonl"
"""Name of the audit log in the data folder."""
REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that is answered, also in the threads that compute it."""
_LOGGERS = ("graphwright.serve", "uvicorn")
_log = logging.getLogger("graphwright.serve")
_SECRETS = re.compile(
    r"(gw_[0-9a-f]{8}_)[A-Za-z0-9_-]{8,}|(gws_)[A-Za-z0-9_-]{8,}|(\beyJ)[\w-]+\.[\w-]+\.[\w-]*"
    r"|(\bsk-)[\w-]{16,}|(\b[Bb]earer\s+)[^\s\"']+"
)
_SUSPECT = re.compile("gws?_|eyJ|sk-|earer")  # what every secret holds, for a quick look
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def without_secrets(text: str) -> str:
    """Return a text with keys, tokens and sessions cut off after their first characters.

    >>> without_secrets("refused gw_0a1b2c3d_abcdefghijklmnop")
    'refused gw_0a1b2c3d_***'
    """
    return _SECRETS.sub(lambda match: f"{next(part for part in match.groups() if part)}***", text)


class _TextFormatter(logging.Formatter):
    """One line: time, level, logger, message, and the further fields as NAME=VALUE; then a traceback, indented."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={_quoted(value)}" for name, value in _fields(record).items())
        begin = f"{self.formatTime(record)} {record.levelname} {record.name}:"
        text = f"{begin} {_printable(record.getMessage())}{fields}"
        if record.exc_info:
            text += "\n" + indent(self.formatException(record.exc_info), "    ")
        return without_secrets(text)


class JSONFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, further fields, and the traceback of an exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        text = json.dumps(line, default=str)
        return json.dumps(_safe(line)) if _SUSPECT.search(text) else text


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the values that were given as `extra`."""
    known = {name: value for name, value in vars(record).items() if name not in _PLAIN and name != "color_message"}
    return {name: value for name, value in known.items() if value is not None}


def _quoted(value: Any) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text else json.dumps(text)


def _printable(text: str) -> str:
    """Return a text on one line: a path may hold line ends, which would look like another entry."""
    return text if text.isprintable() else json.dumps(text, ensure_ascii=False)[1:-1]


def _safe(value: Any) -> Any:
    """Return a value as JSON can hold it, with the texts in it without secrets."""
    if isinstance(value, Mapping):
        return {str(name): _safe(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(item) for item in value]
    return value if isinstance(value, int | float | None) else without_secrets(str(value))


def configure_logging(form: str, level: int = logging.INFO) -> None:
    """Send the logs of the server and of uvicorn to stderr, as "text" or "json"; of all others the warnings.

    Warnings of Python are among them, so that no line has another form.
    """
    handler = _Handler(sys.stderr)
    handler.setFormatter(JSONFormatter() if form == "json" else _TextFormatter())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    logging.captureWarnings(True)
    root = logging.getLogger()
    root.handlers = [*(other for other in root.handlers if not isinstance(other, _Handler)), handler]


class _Handler(logging.StreamHandler[TextIO]):
    """The handler of a server, which a later one replaces."""


class AuditLog:
    """A file with one JSON object for each change: who, when, from where, what, and how it ended.

    It is opened for each entry, so it can be rotated at any time; only its owner can read it.
    """

    def __init__(self, folder: Path) -> None:
        """Take the data folder; the file is created by the first entry."""
        self.path = folder / AUDIT_FILE

    def write(self, entry: Mapping[str, Any]) -> None:
        """Append an entry with the time. A file that cannot be written is an error in the log, not of the request."""
        line = json.dumps(_safe({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry}))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, f"{line}\n".encode())  # one call, so that entries of several processes do not mix
            finally:
                os.close(file)
        except OSError as error:
            _log.error("the audit log %s cannot be written (%s); this entry is lost: %s", self.path, error, line)
