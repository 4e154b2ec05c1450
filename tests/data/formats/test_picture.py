"""Pictures: their text, pages and boxes by text recognition; pictures that cannot be read."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.data.formats.made import page_picture

from graphwright.data.document import RECOGNISED, Skipped
from graphwright.data.documents import read_documents
from graphwright.data.formats import picture
from graphwright.data.formats.format import Extracted, File, UnreadableError
from graphwright.data.formats.parsing.pictures import pictures_in
from graphwright.data.formats.picture import read
from graphwright.data.formats.registry import format_of

Image = pytest.importorskip("PIL.Image")


def saved(picture: Any, form: str, **options: Any) -> bytes:
    output = io.BytesIO()
    picture.save(output, form, **options)
    return output.getvalue()


def extracted(data: bytes) -> Extracted:
    (document,) = read(File("a.png", content=data))
    return document


def test_picture_text_is_recognised_with_places(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    (tmp_path / "scan.jpg").write_bytes(
        saved(page_picture("Graz lies on the Mur.", "Zürich has 447,082 people."), "JPEG")
    )
    (document,) = read_documents([tmp_path], pytest.fail)
    assert document.text.split("\n") == ["Graz lies on the Mur.", "Zürich has 447,082 people."]
    assert document.id == document.title + ".jpg" == "scan.jpg" and document.metadata == {RECOGNISED: "page 1"}
    assert document.places is not None and document.places.of(0, 9) == "page 1"
    first, second = document.places.boxes
    assert (first.start, first.end) == (0, 21) and 0 < first.left < 600 and 2_000 < first.right < 4_000
    assert first.top < first.bottom <= second.top + 200 and second.bottom < 8_000


def test_picture_with_several_pages_keeps_their_numbers() -> None:
    pytest.importorskip("rapidocr")
    pages = page_picture("Graz lies on the Mur."), page_picture("Linz lies on the Danube.").convert("1")
    document = extracted(saved(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
    start = document.text.index("Linz")
    assert document.places is not None and document.places.of(start, start + 4) == "page 2"
    assert document.metadata == {RECOGNISED: "pages 1-2"}


def test_picture_is_upright_and_on_white() -> None:
    clear = Image.new("RGBA", (2, 2), (0, 0, 0, 0))
    assert next(pictures_in(saved(clear, "PNG"))).tolist() == [[[255] * 3] * 2] * 2
    wide = Image.new("L", (4, 2), 255)
    wide.putpixel((0, 0), 0)
    exif = Image.Exif()
    exif[0x0112] = 6  # taken with the camera turned
    assert next(pictures_in(saved(wide, "PNG", exif=exif)))[:, :, 0].tolist() == [[255, 0], *[[255, 255]] * 3]
    deep = Image.fromarray(np.array([[0, 65_535]], np.uint16))
    assert next(pictures_in(saved(deep, "PNG")))[:, :, 0].tolist() == [[0, 255]]


@pytest.mark.parametrize("form", ["PNG", "JPEG", "TIFF", "WEBP"])
def test_picture_is_known_by_its_content(form: str) -> None:
    assert format_of(File("scan", content=saved(page_picture("Graz"), form))).name == "picture"


def test_picture_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "can_recognise", lambda: False)
    with pytest.raises(UnreadableError, match=re.escape("pip install 'graphwright[ocr]'")):
        extracted(saved(page_picture("Graz"), "PNG"))


def test_picture_without_text_too_large_or_damaged_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "can_recognise", lambda: True)
    monkeypatch.setattr(picture, "recognised_lines", lambda pixels, height, kept: [])
    monkeypatch.setattr("graphwright.data.formats.parsing.pictures._MAX_PIXELS", 10_000)
    (tmp_path / "cut.png").write_bytes(saved(Image.new("L", (90, 90), 255), "PNG")[:50])
    (tmp_path / "icon.png").write_bytes(saved(Image.new("L", (16, 16)), "PNG"))
    (tmp_path / "large.png").write_bytes(saved(Image.new("L", (101, 100)), "PNG"))
    (tmp_path / "text.txt").write_text("Graz lies on the Mur.")
    skipped: list[Skipped] = []
    assert [document.id for document in read_documents([tmp_path], skipped.append)] == ["text.txt"]
    reasons = {Path(item.path).name: item.reason for item in skipped}
    assert reasons["cut.png"].startswith("a damaged picture (") and reasons["icon.png"] == "no text in it"
    assert reasons["large.png"].startswith("a picture of more than")
