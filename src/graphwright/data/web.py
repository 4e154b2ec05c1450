"""Files of the web, fetched for the person who names them: http and https, never from a private network.

Addresses are checked where the connection is made, so that neither a redirect nor a name that resolves anew leads into
the network of this machine. Requests to the server name no addresses; its settings may.
"""

from __future__ import annotations

import ipaddress
import mimetypes
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from graphwright.data.formats.format import MAX_BYTES
from graphwright.errors import DataError

AGENT = "graphwright"  # the name of this program for servers and their robots.txt
_SCHEMES = ("http", "https")
_MAX_REDIRECTS = 5
_TIMEOUT = 30.0
_NAT64, _LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48")
_SUFFIXES = {  # of types whose suffix is not that of a format, or that have several
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "application/json": ".json",
    "application/x-ndjson": ".jsonl",
    "application/gzip": ".gz",
    "application/x-tar": ".tar",
}


def is_url(source: str) -> bool:
    """Return whether a source is an address with a scheme rather than a path.

    >>> is_url("https://example.org/a.html"), is_url("FILE:///etc/passwd"), is_url("docs/a.html"), is_url("C:\\\\docs")
    (True, True, False, False)
    """
    return "://" in source


def is_public(address: str) -> bool:
    """Return whether an IP address belongs to the public internet.

    >>> is_public("93.184.215.14"), is_public("127.0.0.1"), is_public("::ffff:10.0.0.1"), is_public("169.254.169.254")
    (True, False, False, False)
    """
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo[1] if parsed.teredo else None)
        if parsed in _NAT64:
            inner = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if parsed in _LOCAL_NAT64 or (inner is not None and not inner.is_global):
            return False
    return parsed.is_global and not parsed.is_multicast


def fetch(url: str, folder: Path, allowed: Callable[[str], bool] = is_public) -> Path:
    """Fetch a URL into a folder; return the file, whose suffix is that of its format.

    `allowed`: whether an IP address may be connected to; called for each address of the URL and of every redirect.
    Raises DataError for another scheme, an address that is not allowed, an answer that is not 200, more than five
    redirects or 256 MB, and a connection that fails.
    """
    with answer(url, allowed) as response:
        check_found(response, url)
        path = folder / f"page{suffix_of(response)}"
        with path.open("wb") as file:
            file.writelines(_parts(response, url))
        return path


@contextmanager
def answer(
    url: str,
    allowed: Callable[[str], bool] = is_public,
    headers: Mapping[str, str] | None = None,
    admit: Callable[[str], None] = lambda url: None,
) -> Iterator[httpx.Response]:
    """Request a URL, and yield the answer, whose content is read in the block.

    `headers`: further ones of the request. `admit`: called with the URL of each request before it is sent, also of a
    redirect; it may raise. Raises DataError as `fetch` does, but for no answer.
    """
    _check_scheme(url)
    sent = {"User-Agent": AGENT, "Accept": "text/html, application/pdf, text/*;q=0.9, */*;q=0.5", **(headers or {})}
    limits: dict[str, Any] = {"follow_redirects": True, "max_redirects": _MAX_REDIRECTS, "timeout": _TIMEOUT}
    hooks: dict[str, list[Callable[..., Any]]] = {"request": [lambda request: admit(str(request.url))]}
    transport = _Transport(httpx.HTTPTransport(verify=_certificates()), allowed)
    try:
        client = httpx.Client(transport=transport, headers=sent, trust_env=False, event_hooks=hooks, **limits)
        with client, client.stream("GET", url) as response:
            yield response
    except httpx.TooManyRedirects as error:
        raise DataError(
            f"{url} redirects more than {_MAX_REDIRECTS} times. Give the address that it leads to."
        ) from error
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise DataError(f"{url} cannot be fetched ({error or type(error).__name__}). Check the address.") from error


@cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context()  # which takes longer than a request


def check_found(response: httpx.Response, url: str) -> None:
    """Raise DataError unless the status of an answer is 200."""
    if response.status_code != 200:
        raise DataError(f"{url} answered {response.status_code} {response.reason_phrase}. Check the address.")


def content(response: httpx.Response, url: str) -> bytes:
    """Return the content of an answer. Raises DataError if it is larger than 256 MB."""
    return b"".join(_parts(response, url))


def _check_scheme(url: str) -> None:
    if urlsplit(url).scheme.lower() not in _SCHEMES:
        raise DataError(f"{url} is not an address of the web; give http:// or https://, or the path of a file.")


class _Transport(httpx.BaseTransport):
    """A transport of httpx that connects to the addresses that were checked, and to no other.

    The request is sent to the IP address, with the host's name in the header and in TLS, and resolved once.
    """

    def __init__(self, inner: httpx.BaseTransport, allowed: Callable[[str], bool]) -> None:
        self.inner, self.allowed = inner, allowed

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        _check_scheme(str(request.url))
        host = request.url.host
        address = self._address(host, request.url.port or (443 if request.url.scheme == "https" else 80))
        sent = httpx.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )  # the request itself stays, as relative redirects are resolved by its address
        return self.inner.handle_request(sent)

    def _address(self, host: str, port: int) -> str:
        addresses = [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        if refused := [address for address in addresses if not self.allowed(address)]:
            raise DataError(
                f"{host} has the address {refused[0]}, which is private; only the public web is fetched. Download the "
                f"page yourself and index the file."
            )
        return addresses[0]

    def close(self) -> None:
        self.inner.close()


def suffix_of(response: httpx.Response) -> str:
    """Return the suffix of a file: that of a page for HTML, else by the path of its address, else by its type."""
    from graphwright.data.formats.registry import formats
    from graphwright.data.records.rows import ROW_SUFFIXES

    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    known = {suffix for format in formats() for suffix in format.suffixes} | {*ROW_SUFFIXES, ".txt", ".gz"}
    suffix = PurePosixPath(unquote(urlsplit(str(response.url)).path)).suffix.lower()
    if suffix in known and _SUFFIXES.get(kind) != ".html":  # as of /index.php
        return suffix
    return _SUFFIXES.get(kind) or mimetypes.guess_extension(kind) or ".txt"


def _parts(response: httpx.Response, url: str) -> Iterator[bytes]:
    size = 0
    for part in response.iter_bytes():
        size += len(part)
        if size > MAX_BYTES:
            raise DataError(f"{url} is larger than {MAX_BYTES >> 20} MB. Download it yourself and split it.")
        yield part
