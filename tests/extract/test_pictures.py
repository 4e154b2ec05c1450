"""Descriptions of pictures by a vision model, over HTTP: as documents of their own, and where the model fails."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest
from tests.data.formats.made import pdf
from tests.llm_server import LLMServer, Say, error

from graphwright.data import Document, ReadOptions, Skipped, read_documents
from graphwright.data.document import DESCRIBED
from graphwright.extract import PictureDescriber
from graphwright.models import BudgetedLLM, OpenAILLM

Image = pytest.importorskip("PIL.Image")


def drawn(red: int) -> Any:
    """A picture of one colour."""
    return Image.new("RGB", (120, 120), (red, 0, 0))


def shown(asked: dict[str, Any]) -> Any:
    """Return the picture of a request."""
    text, image = asked["messages"][-1]["content"]
    assert text["type"] == "text" and image["image_url"]["url"].startswith("data:image/png;base64,")
    return Image.open(io.BytesIO(base64.b64decode(image["image_url"]["url"].partition(",")[2])))


def see(asked: dict[str, Any]) -> str:
    return f"A square of red {shown(asked).getpixel((50, 50))[0]}."


def report(*reds: int, size: float = 60) -> bytes:
    """A PDF with a page of text and a picture, in mm, for each."""
    document = pdf()
    for number, red in enumerate(reds):
        if number:
            document.add_page()
        document.cell(0, 5, f"{('Graz', 'Linz', 'Steyr')[number]} lies on a river.")
        document.image(drawn(red), x=30, y=50, w=size)
    return bytes(document.output())


def described(folder: Path, llm: Any) -> tuple[list[Document], list[Skipped], PictureDescriber]:
    skipped: list[Skipped] = []
    describer = PictureDescriber(llm)
    return list(read_documents([folder], skipped.append, options=ReadOptions(describe=describer))), skipped, describer


def test_picture_in_a_pdf_is_a_document_that_names_the_model(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    (tmp_path / "report.pdf").write_bytes(report(10, 200, 10))
    (tmp_path / "logo.pdf").write_bytes(report(30, size=20))
    with LLMServer(see) as server:
        documents, skipped, describer = described(tmp_path, OpenAILLM("eye", server.url))
    assert [document.id for document in documents] == [
        "logo.pdf",
        "report.pdf",
        "report.pdf#picture-1",
        "report.pdf#picture-2",
    ]
    assert not skipped and describer.usage.calls == 2 and "report.pdf" in str(server.requests[0].json)
    assert [document.text for document in documents[2:]] == ["A square of red 10.", "A square of red 200."]
    last = documents[-1]
    assert last.title == "report › picture on page 2, described by eye" and last.metadata == {DESCRIBED: "eye"}
    assert last.places is not None and last.places.of(0, 5) == "page 2" and not last.file


def test_picture_of_an_office_file_is_described(tmp_path: Path) -> None:
    slides = pytest.importorskip("pptx").Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[5])
    slide.shapes.title.text = "The harbour"
    for red, side in ((70, 120), (90, 20)):
        picture = io.BytesIO()
        drawn(red).resize((side, side)).save(picture, "PNG")
        slide.shapes.add_picture(picture, 0, 0)
    slides.save(tmp_path / "talk.pptx")
    with LLMServer(see) as server:
        documents, skipped, _ = described(tmp_path, OpenAILLM("eye", server.url))
    assert [document.id for document in documents] == ["talk.pptx", "talk.pptx#ppt/media/image1.png"]
    assert documents[1].text == "A square of red 70." and documents[1].title == "talk › picture, described by eye"
    assert not skipped


def test_picture_file_has_its_text_and_its_description(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphwright.data.formats.picture.can_recognise", lambda: True)
    monkeypatch.setattr("graphwright.data.formats.picture.recognised_lines", lambda pixels, height, kept: [])
    drawn(50).resize((3_200, 1_600)).save(tmp_path / "photo.jpg")
    with LLMServer(lambda asked: str(shown(asked).size)) as server:
        documents, skipped, _ = described(tmp_path, OpenAILLM("eye", server.url))
    assert [(document.id, document.text) for document in documents] == [("photo.jpg#picture", "(1600, 800)")]
    assert documents[0].title == "photo › picture, described by eye" and not skipped


def test_picture_without_a_reply_is_named_and_the_text_is_read(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    (tmp_path / "report.pdf").write_bytes(report(10, 200))
    with LLMServer([error(400, "this model sees no pictures"), Say("  ")]) as server:
        documents, skipped, _ = described(tmp_path, OpenAILLM("blind", server.url, retries=0))
    assert [document.id for document in documents] == ["report.pdf"] and len(server.requests) == 2
    refused, empty = sorted(skipped, key=lambda item: "without any text" in item.reason)  # in either order
    assert refused.path == empty.path == str(tmp_path / "report.pdf") and refused.unread and empty.unread
    assert refused.reason.startswith("a picture was not described: ") and "sees no pictures" in refused.reason


def test_picture_beyond_the_budget_is_not_sent(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    (tmp_path / "report.pdf").write_bytes(report(10, 200, 90))
    with LLMServer([Say("A square.", (1_500, 20))]) as server:
        llm = BudgetedLLM(OpenAILLM("eye", server.url, max_tokens=100), max_tokens=2_000)
        documents, skipped, _ = described(tmp_path, llm)
    assert len(documents) == 2 and len(server.requests) == 1
    assert len({item.reason for item in skipped}) == 1 and "budget is exhausted" in skipped[0].reason
