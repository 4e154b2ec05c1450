"""Make files of formats that no package offers as a free text of some length, from texts that packages have."""

from __future__ import annotations

import io
import json
import mailbox
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from itertools import pairwise
from pathlib import Path
from typing import Any


@dataclass
class Section:
    """A section of a manual: its title, and its paragraphs as single lines."""

    title: str
    paragraphs: list[str] = field(default_factory=list)


def sections(text: str) -> list[Section]:
    """Return the sections of an AsciiDoc manual, whose titles are underlined; the first is the title of the manual."""
    lines = text.splitlines()
    titles = {number for number, (line, rule) in enumerate(pairwise(lines)) if _underlined(line, rule)}
    made: list[Section] = []
    paragraph: list[str] = []
    for number, line in enumerate([*lines, ""]):
        if number in titles:
            made.append(Section(line.partition("[[")[0]))
        elif line.strip() and number - 1 not in titles:
            paragraph.append(line.strip())
        elif paragraph:
            made[-1].paragraphs.append(" ".join(paragraph))
            paragraph = []
    return made


def _underlined(line: str, rule: str) -> bool:
    marks = set(rule)
    return len(marks) == 1 and marks < set("=-~") and line[:1].isalpha() and abs(len(line) - len(rule)) < 2


def docx(paths: Sequence[Path], target: Path) -> None:
    """Write a Word document with a page for each section, and the page breaks that Word notes at its last layout."""
    import docx as library
    from docx.enum.text import WD_BREAK
    from docx.oxml import OxmlElement

    document: Any = library.Document()
    for number, section in enumerate(sections(paths[0].read_text("utf-8"))):
        if number > 1:
            document.paragraphs[-1].add_run().add_break(WD_BREAK.PAGE)
        heading = document.add_heading("", level=min(number, 1))
        if number > 1:
            heading.add_run()._r.append(OxmlElement("w:lastRenderedPageBreak"))
        heading.add_run(section.title)
        for paragraph in section.paragraphs:
            listed = paragraph.startswith("* ")
            document.add_paragraph(paragraph.removeprefix("* "), style="List Bullet" if listed else None)
    document.save(str(target))


def pptx(paths: Sequence[Path], target: Path) -> None:
    """Write a presentation with a slide for each section: four paragraphs on it, the others in its notes."""
    import pptx as library

    deck: Any = library.Presentation()
    for section in sections(paths[0].read_text("utf-8")):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = section.title
        slide.placeholders[1].text_frame.text = "\n".join(section.paragraphs[:4])
        if rest := section.paragraphs[4:]:
            slide.notes_slide.notes_text_frame.text = "\n".join(rest)
    deck.save(str(target))


def jsonl(paths: Sequence[Path], target: Path) -> None:
    """Write the array of objects in a JSON file as JSON lines."""
    (rows,) = json.loads(paths[0].read_text("utf-8")).values()
    target.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")


def mbox(paths: Sequence[Path], target: Path) -> None:
    """Write letters, each a file with its headers, as a mailbox."""
    box = mailbox.mbox(target)
    for path in paths:
        box.add(_letter(path))
    box.close()


def _letter(path: Path) -> Any:
    letter = message_from_bytes(path.read_bytes())
    letter.replace_header("Content-type", "text/plain; charset=utf-8")
    return letter


def eml(paths: Sequence[Path], target: Path) -> None:
    """Write a letter as a message, with the other files as its attachments."""
    letter, message = _letter(paths[0]), EmailMessage()
    message["From"], message["Subject"] = letter["From"], letter["Subject"]
    message.set_content(letter.get_payload())
    for path in paths[1:]:
        name = path.with_suffix(".adoc").name
        message.add_attachment(path.read_bytes(), maintype="application", subtype="octet-stream", filename=name)
    target.write_bytes(bytes(message))


def zipped(paths: Sequence[Path], target: Path) -> None:
    """Write files as an archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            archive.write(path, path.name)
    target.write_bytes(packed.getvalue())


MADE: Mapping[str, Callable[[Sequence[Path], Path], None]] = {
    "docx": docx,
    "pptx": pptx,
    "jsonl": jsonl,
    "mbox": mbox,
    "eml": eml,
    "zip": zipped,
}
"""What a file can be made as."""
