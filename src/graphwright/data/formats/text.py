"""Text files: plain text, Markdown and HTML pages in any encoding."""

from __future__ import annotations

from collections.abc import Iterator

from graphwright.data.decoding import SAMPLE, clean, decode
from graphwright.data.document import Heading
from graphwright.data.formats.format import Extracted, File, UnreadableError
from graphwright.data.markup import MarkedText, declared_encoding, html_text, markdown_text


def source_text(file: File, declared: str = "") -> str:
    """Return the content of a file as text. Raises UnreadableError if no encoding fits."""
    text = decode(file.data(), declared)
    if text is None:
        raise UnreadableError("neither UTF-8 nor UTF-16 nor any other encoding tried; save it as UTF-8")
    return clean(text)


def page_text(content: bytes) -> MarkedText:
    """Return the text of an HTML page."""
    return html_text(decode(content, declared_encoding(content[:SAMPLE])) or "")


def read_text(file: File) -> Iterator[Extracted]:
    """Yield a plain text as it is."""
    yield Extracted(source_text(file))


def read_markdown(file: File) -> Iterator[Extracted]:
    """Yield the text of a Markdown file without its marks."""
    yield _extracted(markdown_text(source_text(file)))


def read_html(file: File) -> Iterator[Extracted]:
    """Yield the main content of a page."""
    yield _extracted(html_text(source_text(file, declared_encoding(file.head(SAMPLE)))))


def _extracted(marked: MarkedText) -> Extracted:
    headings = tuple(Heading._make(heading) for heading in marked.headings if heading.title)
    title = " ".join(clean(marked.title).split())
    return Extracted(
        marked.text, title, headings=headings, metadata=marked.settings, links=[clean(link) for link in marked.links]
    )
