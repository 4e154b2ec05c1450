"""Queries in SPARQL that only read, asked of an endpoint over HTTP.

The query is sent as the SPARQL 1.1 Protocol has it, which changes nothing; answers are its Query Results in JSON.
"""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import httpx

from graphwright.data import web
from graphwright.data.graph_database import MAX_ROWS, QUERY_SECONDS, DatabaseRows
from graphwright.errors import DataError, OptionError, cut

_MAX_BYTES = 64 << 20  # of an answer
_PROLOGUE = re.compile(r"(?:\s++|#[^\n]*+|BASE\s*+<[^<>]*+>|PREFIX\s++[^\s:]*+:\s*+<[^<>]*+>)*+(\w*+)", re.IGNORECASE)
_XSD = "http://www.w3.org/2001/XMLSchema#"
_WHOLE = ("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "unsignedInt")


@dataclass(frozen=True)
class SparqlEndpoint:
    """A SPARQL endpoint by its address; its user and password are SPARQL_USERNAME and SPARQL_PASSWORD, if set."""

    address: str

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise OptionError(
                f"{self.address!r} is no endpoint of SPARQL; give its address, such as https://HOST/sparql."
            )
        if "@" in parts.netloc:
            raise OptionError(
                "leave the user and the password out of the address; set SPARQL_USERNAME and SPARQL_PASSWORD."
            )

    def query(self, sparql: str) -> DatabaseRows:
        """Ask a SELECT or ASK query, and return its first MAX_ROWS rows; the answer to ASK is one row.

        IRIs and literals are texts, numbers and booleans by their XSD type, and what is unbound None. Raises
        OptionError for a query of another form, and DataError for one that the endpoint refuses, that takes longer
        than QUERY_SECONDS, or has an answer of more than 64 MB.
        """
        match = _PROLOGUE.match(sparql)
        form = match[1].upper() if match else ""
        if form not in ("SELECT", "ASK"):
            raise OptionError(
                f"the query begins with {form or 'no word'!r}; only SELECT and ASK are sent to an endpoint."
            )
        answer = self._answer(sparql)
        try:
            if form == "ASK":
                return DatabaseRows(("ASK",), ((bool(answer["boolean"]),),))
            columns, bindings = answer["head"]["vars"], answer["results"]["bindings"]
            rows = [[_value(row.get(name)) for name in columns] for row in islice(bindings, MAX_ROWS)]
            return DatabaseRows(columns, rows, len(bindings) > MAX_ROWS)
        except (LookupError, TypeError, AttributeError) as error:
            raise DataError(f"{self.address} sent no results of SPARQL ({type(error).__name__}: {error}).") from error

    def _answer(self, sparql: str) -> Any:
        user, password = os.environ.get("SPARQL_USERNAME"), os.environ.get("SPARQL_PASSWORD")
        headers = {"Accept": "application/sparql-results+json", "User-Agent": web.AGENT}
        auth = (user, password or "") if user else None
        end, content = time.monotonic() + QUERY_SECONDS, bytearray()
        try:
            with httpx.stream(
                "POST", self.address, data={"query": sparql}, headers=headers, auth=auth, timeout=QUERY_SECONDS
            ) as response:
                for part in response.iter_bytes():
                    content += part
                    if len(content) > _MAX_BYTES or time.monotonic() > end:
                        raise DataError(
                            f"the answer of {self.address} is larger than {_MAX_BYTES >> 20} MB, or takes longer than "
                            f"{QUERY_SECONDS:g} seconds. Add a LIMIT, or ask for less."
                        )
        except httpx.TimeoutException as error:
            raise DataError(f"{self.address} did not answer within {QUERY_SECONDS:g} seconds. Ask for less.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise DataError(f"{self.address} cannot be asked ({error or type(error).__name__}). Check it.") from error
        if response.status_code != httpx.codes.OK:
            raise DataError(self._refusal(response, content.decode("utf-8", "replace")))
        try:
            return json.loads(content)
        except ValueError as error:
            kind = response.headers.get("content-type", "no type")
            raise DataError(f"{self.address} is no endpoint of SPARQL: it sent {kind}, not results in JSON.") from error

    def _refusal(self, response: httpx.Response, text: str) -> str:
        status = f"{response.status_code} {response.reason_phrase}"
        if response.is_redirect:
            return f"{self.address} leads to {response.headers.get('location')}. Give that address."
        if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            return f"{self.address} answered {status}. Set SPARQL_USERNAME and SPARQL_PASSWORD."
        if response.status_code == httpx.codes.NOT_FOUND:
            return f"{self.address} answered {status}; there is no endpoint. Check the address."
        shown = "" if text.lstrip().startswith("<") else cut(" ".join(text.split()))
        return f"{self.address} refused the query ({status}){': ' * bool(shown)}{shown or '.'}"


def _value(term: Any) -> Any:
    """Return an RDF term of a result as JSON."""
    if term is None:
        return None
    value, kind = term["value"], term.get("datatype", "").removeprefix(_XSD)
    if term["type"] == "triple":
        return [_value(value[part]) for part in ("subject", "predicate", "object")]
    if term["type"] == "bnode":
        return f"_:{value}"
    try:
        if kind in _WHOLE:
            return int(value)
        if kind in ("decimal", "double", "float"):
            return float(value)
    except ValueError:  # no number after all, or one too long
        return value
    return value in ("true", "1") if kind == "boolean" else value
