"""Logs of the server: structured lines with request ids and without secrets, and the audit log of changes."""

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

AUDIT_FILE = "audit.jsonl"  # name of the audit log in the data folder
REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the current request, also in worker threads."""
_LOGGERS = ("graphwright.serve", "uvicorn")
log = logging.getLogger("graphwright.serve")  # of the server
_SECRETS = re.compile(
    r"(gw_[0-9a-f]{8}_)[A-Za-z0-9_-]{8,}|(gws_)[A-Za-z0-9_-]{8,}|(\beyJ)[\w-]+\.[\w-]+\.[\w-]*"
    r"|(\b(?:sk-|AIza|AKIA|gh[opsu]_|github_pat_|hf_|gsk_|xai-|r8_))[\w-]{12,}|(\b[Bb]earer\s+)[^\s\"']+"
    r"|(?i:(\b\w+://[^\s/@\"']*?:)[^\s/\"']+(?=@))"  # the password of an address
    r"|(?i:([?&;][\w-]*(?:key|token|sig|auth|code)=)[^\s\"'&;,)]+)"  # a parameter of an address
    r"|(?i:((?:(?:api|access|secret|private)[ _-]?key|\btoken|password|secret|authorization)[\"']?(?: provided)?\s?[:=]"
    r"\s?[\"']?(?:(?:basic|bearer)\s)?)[^\s\"'&;,)]+)"
)
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def without_secrets(text: str) -> str:
    """Return a text with keys, tokens and sessions masked after their first characters.

    >>> without_secrets("refused gw_0a1b2c3d_abcdefghijklmnop")
    'refused gw_0a1b2c3d_***'
    >>> without_secrets("https://me:word@x.org/v1?api_key=0123&page=2 failed; Incorrect API key provided: my-key.")
    'https://me:***@x.org/v1?api_key=***&page=2 failed; Incorrect API key provided: ***'
    """
    return _SECRETS.sub(lambda match: f"{next(part for part in match.groups() if part)}***", text)


class _TextFormatter(logging.Formatter):
    """Formatter of text lines: time, level, logger, message, further fields as NAME=VALUE; an indented traceback."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={_quoted(value)}" for name, value in _fields(record).items())
        begin = f"{self.formatTime(record)} {record.levelname} {record.name}:"
        text = f"{begin} {_printable(record.getMessage())}{fields}"
        if record.exc_info:
            text += "\n" + indent(self.formatException(record.exc_info), "    ")
        return without_secrets(text)


class JSONFormatter(logging.Formatter):
    """Formatter of JSON lines: time, level, logger, message, further fields, and the traceback of an exception."""

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
        return json.dumps(_safe(line))


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the values of `extra`."""
    extra = {name: value for name, value in vars(record).items() if name not in _PLAIN and name != "color_message"}
    return {name: value for name, value in extra.items() if value is not None}


def _quoted(value: Any) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text else json.dumps(text)


def _printable(text: str) -> str:
    """Return a text on one line. Line ends, as in the name of a file, could forge another log entry."""
    return text if text.isprintable() else json.dumps(text, ensure_ascii=False)[1:-1]


def _safe(value: Any) -> Any:
    """Return a value for JSON, without secrets in its texts."""
    if isinstance(value, Mapping):
        return {str(name): _safe(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(item) for item in value]
    return value if isinstance(value, int | float | None) else without_secrets(str(value))


def configure_logging(form: str) -> None:
    """Send logs and Python's warnings to stderr as "text" or "json"; of other loggers only warnings."""
    handler = _Handler(sys.stderr)
    handler.setFormatter(JSONFormatter() if form == "json" else _TextFormatter())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
    logging.captureWarnings(True)
    root = logging.getLogger()
    root.handlers = [*(other for other in root.handlers if not isinstance(other, _Handler)), handler]


class _Handler(logging.StreamHandler[TextIO]):
    """The server's handler; `configure_logging` replaces an earlier one."""


def audit(folder: Path, entry: Mapping[str, Any]) -> None:
    """Append an entry, with the time, to the audit log of a data folder, which only its owner can read.

    It can be rotated at any time. If it cannot be written, an error is logged; the request does not fail.
    """
    path = folder / AUDIT_FILE
    line = json.dumps(_safe({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry}))
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{line}\n".encode())  # one call, so that entries of several processes do not mix
        finally:
            os.close(file)
    except OSError as error:
        log.error("the audit log %s cannot be written (%s); this entry is lost: %s", path, error, line)
