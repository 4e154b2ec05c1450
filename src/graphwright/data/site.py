"""A web site as a source: its pages, as robots.txt allows, slowly, and only when changed.

They are those of its sitemap or of a list, else those that links lead to from a start page. A sitemap is one of
sitemaps.org, also packed and of several files; robots.txt is followed as RFC 9309 says. A page that has not changed is
not sent again (If-None-Match and If-Modified-Since of RFC 9110).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import httpx

from graphwright.data import web
from graphwright.data.connectors import Fetched, SourceFile
from graphwright.data.crawling import Crawl, host_of, is_page, page_address
from graphwright.data.decoding import unpacked
from graphwright.data.document import Skipped
from graphwright.data.formats.format import File, UnreadableError
from graphwright.data.formats.parsing.xml import parsed_xml
from graphwright.errors import DataError, check_installed

if TYPE_CHECKING:
    from protego import Protego

_DELAY = 1.0  # seconds between two requests to a host
_MAX_DELAY = 60.0  # seconds that a robots.txt may ask for
_MAX_DEPTH = 3  # of sitemaps that name others
_MAX_SITEMAP = 50 << 20  # bytes, by sitemaps.org
_MAX_ROBOTS = 500 << 10  # bytes that are read, by RFC 9309
_GZIP = b"\x1f\x8b"
_LIST = "urls:"
_SITEMAP_SUFFIXES = (".xml", ".xml.gz", ".txt")


class _RefusedError(Exception):
    """A page that is not fetched: robots.txt forbids it, or it leads to another host."""


@dataclass
class WebSite:
    """Pages of a web site: those of a sitemap, `https://…/sitemap.xml`, or of a list of addresses, one a line.

    The address of a page of HTML stands for the pages below its folder that links lead to from there. The address of a
    host alone stands for the sitemaps that its robots.txt names, else for `/sitemap.xml`, else for its first page. Of
    other hosts nothing is fetched. `urls:FILE` is a list on this machine, which may name any public host. `delay`:
    seconds between two requests to a host; a longer Crawl-delay is kept. `allowed`: whether an IP address may be
    connected to.
    """

    address: str
    delay: float = _DELAY
    allowed: Callable[[str], bool] = web.is_public

    def __post_init__(self) -> None:
        if self.address.startswith(_LIST):
            self.address = f"{_LIST}{Path(self.address.removeprefix(_LIST)).resolve()}"
        self._visitor = _Visitor(frozenset(), self.delay, self.allowed)
        self._crawl: Crawl | None = None

    def list(self) -> list[SourceFile]:
        """Return the pages. Raises DataError for a sitemap, list or page not read, OptionError without protego."""
        self._crawl = None
        if self.address.startswith(_LIST):
            pages = _listed(_text_of(Path(self.address.removeprefix(_LIST))), self.address)
            self._visitor = _Visitor(frozenset(map(host_of, pages)), self.delay, self.allowed)
        else:
            self._visitor = _Visitor(frozenset((host_of(self.address),)), self.delay, self.allowed)
            answers = [*self._answers()]
            if answers[0].is_page and not answers[0].url.endswith(_SITEMAP_SUFFIXES):
                self._crawl = Crawl(page_address("", answers[0].url), self._visitor.may_fetch)
                return [SourceFile(self._crawl.start, leads=True)]
            pages = [page for answer in answers for page in self._pages(answer)]
        return [SourceFile(page) for page in dict.fromkeys(pages)]

    def fetch(self, name: str, tag: str) -> Fetched | Skipped | None:
        """Fetch a page, unless its ETag or the date of its change is still the same."""
        version, _, digest = tag.partition("\n")
        condition = "If-None-Match" if version.endswith('"') else "If-Modified-Since"
        try:
            with self._visitor.answer(name, {condition: version} if version else {}) as response:
                if response.status_code == httpx.codes.NOT_MODIFIED:
                    is_copy = self._crawl is not None and digest and not self._crawl.is_first(name, digest)
                    return Fetched(None) if is_copy else None
                if response.status_code in (httpx.codes.NOT_FOUND, httpx.codes.GONE):
                    return Skipped(name, f"it answered {response.status_code} {response.reason_phrase}")
                web.check_found(response, name)
                file = File(f"page{web.suffix_of(response)}", content=web.content(response, name))
                version = response.headers.get("etag") or response.headers.get("last-modified", "")
                if self._crawl is not None:
                    return self._crawl.fetched(name, response, file, version)
                return Fetched(file, version)
        except _RefusedError as error:
            return Skipped(name, str(error))

    def _answers(self) -> Iterator[_Answer]:
        """Yield the sitemaps of the address, the list, or the start page."""
        if urlsplit(self.address).path not in ("", "/"):
            yield self._answer(self.address)
            return
        origin = _origin(self.address)
        if sitemaps := tuple(self._visitor.robots(origin).sitemaps):
            yield from map(self._answer, sitemaps)
            return
        usual = self._answer(f"{origin}/sitemap.xml", needed=False)
        yield self._answer(f"{origin}/") if usual.is_page or not usual.content else usual

    def _answer(self, url: str, *, needed: bool = True) -> _Answer:
        """Fetch a sitemap, a list or a page; one that is not `needed` and does not exist has no content."""
        try:
            with self._visitor.answer(url) as response:
                if not needed and response.status_code in (httpx.codes.NOT_FOUND, httpx.codes.GONE):
                    return _Answer(url, b"")
                web.check_found(response, url)
                kind, content = response.headers.get("content-type", ""), web.content(response, url)
                return _Answer(str(response.url), content, kind.startswith("text/plain"), is_page(response))
        except _RefusedError as error:
            raise DataError(f"{url} cannot be fetched: {error}. Nothing was changed.") from None

    def _pages(self, answer: _Answer, depth: int = 1) -> Iterator[str]:
        """Yield the pages of a sitemap, of those that it names, or of a list."""
        sitemap, content = answer.url, answer.content
        content = unpacked(content, _MAX_SITEMAP + 1) if content.startswith(_GZIP) else content
        if len(content) > _MAX_SITEMAP:
            raise DataError(f"{sitemap} is larger than {_MAX_SITEMAP >> 20} MB, the limit of sitemaps. Name its parts.")
        if answer.is_text:
            yield from _listed(content.decode("utf-8", "replace"), sitemap)
            return
        try:
            root = parsed_xml(content.strip())
        except UnreadableError as error:
            raise DataError(f"{sitemap} is no sitemap, but {error}.{_REMEDY}") from error
        name, places = root.tag.rpartition("}")[2], root.findall("{*}*/{*}loc")
        if name not in ("urlset", "sitemapindex"):
            raise DataError(f"{sitemap} is no sitemap, but XML of the kind <{name}>.{_REMEDY}")
        for place in places:
            address = (place.text or "").strip()
            if name == "urlset":
                yield address
            elif depth == _MAX_DEPTH:
                raise DataError(f"{sitemap} is in {depth} sitemaps, which name one another. Name the last one.")
            else:
                yield from self._pages(self._answer(address), depth + 1)


class _Answer(NamedTuple):
    """The answer of a site to the request of a sitemap, a list (`is_text`) or a page."""

    url: str
    content: bytes
    is_text: bool = False
    is_page: bool = False


_REMEDY = (
    " Give the address of the site's sitemap, of a list of addresses as plain text, or of a page whose links are to be "
    "followed; a single page is added by graphwright index."
)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as a list of addresses ({error}). Give a text file.") from error


def _listed(text: str, where: str) -> list[str]:
    """Return the addresses of a list, one a line; empty lines and lines that begin with # are left out."""
    pages = []
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if line and not line.startswith("#"):
            if not line.startswith(("http://", "https://")):
                raise DataError(f"{where}: line {number} is {line[:80]!r}; give one address of http or https a line.")
            pages.append(line)
    return pages


def _origin(url: str) -> str:
    return "{0.scheme}://{0.netloc}".format(urlsplit(url))


@dataclass
class _Visitor:
    """Requests to some hosts, one at a time, as their robots.txt allow, with a delay between two to the same host."""

    hosts: frozenset[str]
    delay: float
    allowed: Callable[[str], bool]
    _robots: dict[str, Protego] = field(default_factory=dict)  # by origin
    _due: dict[str, float] = field(default_factory=dict)  # by origin: when the next request may be sent

    def answer(self, url: str, headers: dict[str, str] | None = None) -> AbstractContextManager[httpx.Response]:
        """Request a URL, and yield the answer. Raises _RefusedError if it, or a redirect, is not to be fetched."""
        return web.answer(url, self.allowed, headers, self._admit)

    def robots(self, origin: str) -> Protego:
        """Return the rules of a server. Raises DataError if they cannot be read, as then nothing may be fetched."""
        if origin not in self._robots:
            check_installed("protego", "web", "Reading the robots.txt of a web site")
            from protego import Protego

            url = f"{origin}/robots.txt"
            with web.answer(url, self.allowed) as response:
                if response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR:
                    raise DataError(f"{url} answered {response.status_code}, so nothing is fetched. Try again later.")
                found = response.status_code == httpx.codes.OK
                text = web.content(response, url)[:_MAX_ROBOTS].decode("utf-8", "replace") if found else ""
            self._robots[origin] = Protego.parse(text)
        return self._robots[origin]

    def may_fetch(self, url: str) -> bool:
        """Return whether robots.txt allows to fetch an address."""
        return bool(self.robots(_origin(url)).can_fetch(url, web.AGENT))

    def _admit(self, url: str) -> None:
        """Wait until a URL may be requested. Raises _RefusedError if it may not."""
        if host_of(url) not in self.hosts:
            raise _RefusedError(f"it leads to another host, {urlsplit(url).netloc}")
        if not self.may_fetch(url):
            raise _RefusedError(f"{_origin(url)}/robots.txt forbids it")
        origin = _origin(url)
        delay = max(self.delay, self.robots(origin).crawl_delay(web.AGENT) or 0.0)
        if delay > _MAX_DELAY:
            raise DataError(
                f"{origin}/robots.txt asks for {delay:g} seconds between two requests, which is too slow for a sync. "
                f"Add single pages by graphwright index."
            )
        time.sleep(max(0.0, self._due.get(origin, 0.0) - time.monotonic()))
        self._due[origin] = time.monotonic() + delay
