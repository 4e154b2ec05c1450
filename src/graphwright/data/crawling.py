"""Links between the pages of a site that has no sitemap: which of them a crawl follows, and which pages are one.

A page says by its `robots` meta element or the header X-Robots-Tag that it is not to be indexed, or its links not to be
followed; by `rel="canonical"` (RFC 6596) that another address is its own.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from graphwright.data import web
from graphwright.data.connectors import Fetched
from graphwright.data.decoding import SAMPLE, decode
from graphwright.data.document import Skipped
from graphwright.data.formats.format import File
from graphwright.data.formats.html import declared_encoding
from graphwright.data.formats.parsing.html_tables import limited_nesting

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_MAX_ADDRESS = 2_000  # characters
_NOT_TEXT = ("image/", "audio/", "video/", "font/", "text/css", "text/javascript", "application/javascript")
_INDEX = re.compile(r"(?<=/)index\.\w+$")  # a page that servers send for its folder
_PACKED = frozenset((".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".exe", ".dmg", ".iso", ".jar"))
_VALUED = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")  # rules with a colon


def host_of(url: str) -> str:
    """Return the host of an address, with its port; that with www. before it is the same."""
    return urlsplit(url).netloc.lower().rpartition("@")[2].removeprefix("www.")


def is_page(response: httpx.Response) -> bool:
    """Return whether an answer is a page of HTML."""
    return web.suffix_of(response) == ".html"


@dataclass
class Crawl:
    """The part of a site below the folder of the page `start`. `may_fetch`: whether robots.txt allows an address.

    Of pages that differ only in the query of their address, and have the same text, the first counts, as of a folder
    and its index.html. So session ids in links end with the pages that have them.
    """

    start: str
    may_fetch: Callable[[str], bool]
    _texts: dict[tuple[str, str], str] = field(default_factory=dict)  # the address by path and digest of the text

    def is_first(self, name: str, digest: str) -> bool:
        """Return whether no other page has the same text at an address that differs only in its query."""
        path = _INDEX.sub("", urlsplit(name).path.partition(";")[0])
        return self._texts.setdefault((path, digest), name) == name

    def fetched(self, name: str, response: httpx.Response, file: File, tag: str) -> Fetched:
        """Return a page with its links, no file if it leads elsewhere; its tag has a digest of its text in a line."""
        url = page_address("", str(response.url))
        if response.history and url != name:
            first, links = response.history[0], tuple(self._followed([url], url))
            if first.status_code in (httpx.codes.MOVED_PERMANENTLY, httpx.codes.PERMANENT_REDIRECT):
                return Fetched(None, links=links)
            return Fetched(Skipped(name, f"it leads to {url} for the time being", True), links=links)
        if not is_page(response):
            return Fetched(file, tag)
        page = _Page.of(file.content or b"", url, response.headers.get_list("x-robots-tag"))
        links = tuple(self._followed(page.links, url))
        for canonical in self._followed([page.canonical], url):
            if canonical != name:
                return Fetched(None, links=(canonical,))
        if not self.is_first(name, page.digest):
            return Fetched(None)
        if "noindex" in page.rules:
            return Fetched(Skipped(name, "the page asks not to be indexed (noindex)"), links=links)
        return Fetched(file, tag and f"{tag}\n{page.digest}", links)

    def _followed(self, targets: Iterable[str], page: str) -> Iterator[str]:
        """Yield a page's links of this part of the site that may be fetched; www. and without is the same host."""
        origin, host = "{0.scheme}://{0.netloc}".format(urlsplit(page)), host_of(self.start)
        folder = urlsplit(self.start).path.rpartition("/")[0] + "/"
        for target in targets:
            parts = urlsplit(target)
            if host_of(target) == host and parts.path.startswith(folder) and _may_be_text(parts.path):
                address = parts._replace(scheme="", netloc="").geturl()
                if self.may_fetch(origin + address):
                    yield origin + address


@dataclass(frozen=True)
class _Page:
    """What a page says of itself: its canonical address, rules for robots, and links to follow, as whole addresses."""

    canonical: str
    rules: frozenset[str]
    links: tuple[str, ...]
    digest: str  # of its text

    @classmethod
    def of(cls, content: bytes, url: str, headers: Iterable[str]) -> _Page:
        from selectolax.lexbor import LexborHTMLParser

        tree = LexborHTMLParser(limited_nesting(decode(content, declared_encoding(content[:SAMPLE])) or ""))
        metas = tree.css(f'meta[name="robots" i], meta[name="{web.AGENT}" i]')
        said = [*(node.attributes.get("content") or "" for node in metas), *map(_own_rules, headers)]
        rules = {rule.strip().lower() for text in said for rule in text.split(",")}
        rules |= {"noindex", "nofollow"} if "none" in rules else set()
        base = next(_targets(tree, "base[href]", url), url)
        canonical = next(_targets(tree, 'link[rel~="canonical" i][href]', base), "")
        links = () if "nofollow" in rules else tuple(_targets(tree, 'a[href]:not([rel~="nofollow" i])', base))
        tree.strip_tags(["script", "style"])
        text = "" if tree.body is None else " ".join(tree.body.text(separator=" ").split())
        return cls(canonical, frozenset(rules), links, blake2b(text.encode(), digest_size=16).hexdigest())


def _own_rules(header: str) -> str:
    """Return the rules of a header X-Robots-Tag that are not for another robot.

    >>> _own_rules("noindex, nofollow"), _own_rules("otherbot: noindex"), _own_rules("graphwright: none")
    ('noindex, nofollow', '', ' none')
    """
    agent, colon, rules = header.partition(":")
    if not colon or "," in agent or agent.strip().lower() in _VALUED:
        return header
    return rules if agent.strip().lower() == web.AGENT else ""


def _targets(tree: LexborHTMLParser, selector: str, base: str) -> Iterator[str]:
    """Yield the addresses that elements lead to."""
    for node in tree.css(selector):
        if address := page_address(node.attributes.get("href") or "", base):
            yield address


def page_address(target: str, base: str) -> str:
    """Return the whole address of a link without its fragment, "" for one that is no address of the web.

    >>> page_address(" B c.html?x=1#top", "http://Example.org:80/a/"), page_address("//e.org", "https://d.org/")
    ('http://example.org/a/B%20c.html?x=1', 'https://e.org/')
    >>> page_address("mailto:a@d.org", "http://d.org/"), page_address("http://d.org:x/", "http://d.org/")
    ('', '')
    """
    with suppress(httpx.InvalidURL, ValueError):
        url = httpx.URL(base).join("".join(target.split("\n")).strip()).copy_with(fragment=None)
        if url.scheme in ("http", "https") and url.host and len(str(url)) <= _MAX_ADDRESS:
            parts = urlsplit(str(url))
            return parts._replace(path=parts.path or "/", fragment="").geturl()
    return ""


def _may_be_text(path: str) -> bool:
    kind, suffix = mimetypes.guess_type(path, strict=False)[0] or "", PurePosixPath(path).suffix.lower()
    return suffix not in _PACKED and not kind.startswith(_NOT_TEXT)
