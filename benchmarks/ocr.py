"""Measure the recognition of text on scanned pages: wrong characters, and seconds of processor time a page.

    python benchmarks/ocr.py [--pages 3]

Pages of known text (passages of the demo corpus, in one column or two) are drawn at 150 and 300 dpi,
turned by a degree, darkened and blurred with noise, saved as JPEG, and put into a PDF, which is read as any other file.
A wrong character is one that has to be inserted, left out or replaced (Levenshtein distance), blanks joined.

Prints a table.
"""

from __future__ import annotations

import io
import json
import random
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fpdf
import numpy as np
import pypdfium2
from harness import mean, table
from PIL import Image
from rapidfuzz.distance import Levenshtein

import graphwright
from graphwright.data.formats.format import File
from graphwright.data.formats.parsing.pdf_pictures import page_pixels
from graphwright.data.formats.pdf import read

CORPUS = Path(graphwright.__file__).parent / "cli" / "demo_corpus" / "corpus.jsonl"
CONDITIONS = {
    "clean": (0.0, 0.0),
    "turned by 1 degree": (1.0, 0.0),
    "noisy": (0.0, 40.0),
    "turned and noisy": (-1.0, 40.0),
}


def passages(seed: int) -> Iterator[str]:
    """Yield passages in random order, without characters that the font of the page lacks."""
    rows = [json.loads(line)["text"] for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    random.Random(seed).shuffle(rows)
    return (" ".join(text.encode("latin-1", "ignore").decode("latin-1").split()) for text in rows)


def one_column(page: Any, texts: Iterator[str]) -> str:
    page.set_font("times", size=11)
    return _column(page, texts, page.l_margin, 180, 5)


def two_columns(page: Any, texts: Iterator[str]) -> str:
    page.set_font("helvetica", size=9)
    return " ".join(_column(page, texts, x, 85, 4) for x in (15, 110))


def _column(page: Any, texts: Iterator[str], x: float, width: float, height: float) -> str:
    said = []
    page.set_xy(x, 20)
    while page.get_y() < 240:
        said.append(next(texts)[:600])
        page.set_x(x)
        page.multi_cell(width, height, said[-1], new_x="LMARGIN", new_y="NEXT", align="L")
        page.ln(3)
    return " ".join(said)


def scanned(data: bytes, dpi: int, angle: float, noise: float, seed: int) -> bytes:
    """Return a PDF of one page as a scanner would save it."""
    pixels = page_pixels(pypdfium2.PdfDocument(data)[0], dpi / 72, 10_000)
    picture = Image.fromarray(pixels).convert("L").rotate(angle, Image.Resampling.BICUBIC, fillcolor=255)
    values = np.asarray(picture, float)
    if noise:
        values = values * 0.8 + 25 + np.random.default_rng(seed).normal(0, noise, values.shape)
    page, output = Image.fromarray(values.clip(0, 255).astype(np.uint8)), io.BytesIO()
    page.save(output, "PDF", resolution=dpi, quality=60)
    return output.getvalue()


LAYOUTS = {"one column": one_column, "two columns": two_columns}


def measured(dpi: int, angle: float, noise: float, pages: int) -> list[float]:
    """Return the wrong characters of each layout in percent, and the seconds of processor time a page."""
    errors: dict[str, list[float]] = {name: [] for name in LAYOUTS}
    seconds = []
    for seed in range(pages):
        for name, layout in LAYOUTS.items():
            page = fpdf.FPDF(format="A4")
            page.set_auto_page_break(False)
            page.add_page()
            text = layout(page, passages(seed))
            file = File("scan.pdf", content=scanned(bytes(page.output()), dpi, angle, noise, seed))
            start = time.process_time()
            found = " ".join(part.text for part in read(file))  # type: ignore[union-attr, unused-ignore]
            seconds.append(time.process_time() - start)
            errors[name].append(Levenshtein.distance(text, " ".join(found.split())) / len(text))
    return [*(100 * mean(values) for values in errors.values()), mean(seconds)]


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=3, help="of each layout and condition")
    options = parser.parse_args()
    rows = [
        [f"{dpi} dpi, {name}", *(f"{value:.2f}" for value in measured(dpi, *condition, options.pages))]
        for dpi in (150, 300)
        for name, condition in CONDITIONS.items()
    ]
    print(table(["scan", *(f"{name}, % wrong" for name in LAYOUTS), "seconds a page"], rows))


if __name__ == "__main__":
    main()
