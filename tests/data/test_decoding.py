"""Detection of text encodings, and of binary data."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright.data import read_graph_questions, read_openie, read_questions, read_triples
from graphwright.data.decoding import decode, is_binary, lines
from graphwright.errors import DataError

WESTERN = "Le café est déjà fermé à cette heure, mais l’élève “français” était très étonné : 5 £."
TEXTS = {
    "cp1252": WESTERN,
    "latin-1": "Die Straße ist für Fußgänger gesperrt. Größe und Übermut führten schließlich zu Ärger.",
    "cp1250": "Warszawa jest stolicą Polski. Miasto leży nad Wisłą, a jego ludność wynosi ponad milion osób.",
    "cp1251": "Москва является столицей России. Население города превышает двенадцать миллионов человек.",
    "koi8-r": "Москва является столицей России. Население города превышает двенадцать миллионов человек.",
    "cp1253": "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας και μία από τις αρχαιότερες πόλεις του κόσμου.",
    "shift_jis": "東京は日本の首都です。人口は約千四百万人で、世界最大の都市の一つです。カタカナも使います。",
    "euc_jp": "東京は日本の首都です。人口は約千四百万人で、世界最大の都市の一つです。カタカナも使います。",
    "gb18030": "北京是中华人民共和国的首都，也是全国的政治、文化中心。这座城市有三千多年的历史。",
    "big5": "臺北市是中華民國的首都，也是臺灣的政治、經濟和文化中心。這座城市有很多人口。",
    "euc_kr": "서울은 대한민국의 수도이다. 인구는 약 천만 명이며 한강을 끼고 있다. 조선 시대부터 수도였다.",
}
ENGLISH = "Plain English surrounds it, as it does in most files that people have. " * 10


@pytest.mark.parametrize("codec", TEXTS)
@pytest.mark.parametrize("repeats", [1, 3000])
@pytest.mark.parametrize("around", ["", ENGLISH], ids=["alone", "in English"])
def test_decode_code_page_is_detected(codec: str, repeats: int, around: str) -> None:
    text = (around + TEXTS[codec] + "\n") * (repeats if not around else min(repeats, 300))
    assert decode(text.encode(codec)) == text


@pytest.mark.parametrize(
    ("codec", "words"),
    [
        ("cp1251", "Лампа Тверь Стул Омск Шкаф Казань"), ("cp932", "品番 六角ボルト 数量 ワッシャー 新潟市 佐藤健二"),
        ("gb18030", "产品 台灯 上海 椅子 北京 桌子 广州 柜子 深圳"), ("cp1256", "المنتج مصباح السعر كرسي طاولة"),
        ("cp949", "제품 램프 가격 의자 재고 책상"), ("cp850", "Stück Größe grün Färöer"),
        ("cp1250", "Łódź Wisła Białystok"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["{};12,50\n", '{{"name": "{}", "id": 7}}\n', "<td>{}</td>", "1,{},2024-05-01\n"])
def test_decode_code_page_between_marks_of_a_format_is_detected(codec: str, words: str, form: str) -> None:
    text = "".join(form.format(word) for word in words.split())
    assert decode(text.encode(codec)) == text


LANGUAGES = {
    "Zażółć gęślą jaźń. Miasto Łódź leży w Polsce, a mieszkańcy są dumni z ulicy.": "cp1250 iso8859-2 cp852 utf-16-le",
    "Příliš žluťoučký kůň. Město leží na řece Vltavě, má mnoho mostů a věží.": "cp1250 iso8859-2 cp852",
    "Das Zimmer kostet 49 €, das Frühstück 12 €. Für Hunde zahlt man 5 € je Tag.": "cp1252 iso8859-15 mac_roman",
    "Le cœur du bœuf coûte 30 €, hélas, à Noël, et la fenêtre est fermée.": "cp1252 iso8859-15 mac_roman utf-16-be",
    "På våren blåser det över sjön. Många båtar är målade i blått och rött.": "cp1252 cp850 mac_roman",
    "İstanbul çok kalabalıktır. Öğrenciler için giriş ücretsizdir, şemsiye kapıda kalır.": "cp1254",
    "Насос в третьем цехе остановился ночью, инженер заменил клапан.": "cp1251 koi8-r iso8859-5 cp866 utf-16-le",
    "Инженерът провери налягането и смени клапана на помпата през нощта.": "mac_cyrillic cp1251 utf-16-be",
    "Το πλοίο φεύγει στις οκτώ το πρωί από τον Πειραιά, καθημερινά.": "cp1253 iso8859-7 utf-16-le",
    "המשאבה בקומה השנייה נעצרה בלילה. הטכנאי החליף את השסתום.": "cp1255 utf-16-be",
    "توقفت المضخة في الطابق الثاني ليلا. استبدل الفني الصمام.": "cp1256 iso8859-6 utf-16-le",
    "第二工場のポンプが夜中に停止した。技術者が弁を交換した。": "cp932 euc_jp iso2022_jp utf-16-le utf-16-be",
    "東京都千代田区丸の内 北海道札幌市中央区 京都府京都市左京区 福岡県福岡市": "cp932 euc_jp utf-16-le",
    "株式会社山田製作所 大阪府堺市北区 電話番号変更 営業部 鈴木一郎": "euc_jp",
    "北京市海淀区中关村大街 上海市浦东新区世纪大道 广州市天河区体育西路 深圳市": "gb18030 utf-16-be",
    "第二廠房的水泵在夜間停止運轉。技術員更換了閥門，並檢查了壓力。": "big5 utf-16-le",
    "제이 공장의 펌프가 밤에 멈췄다. 기술자가 밸브를 교체하였다.": "cp949 utf-16-be",
    "ห้องสมุดเปิดทุกวันยกเว้นวันจันทร์ ผู้อ่านยืมหนังสือได้ห้าเล่ม": "cp874 utf-16-le",
}


@pytest.mark.parametrize("before", ["", ENGLISH], ids=["alone", "in English"])
@pytest.mark.parametrize("text", LANGUAGES, ids=lambda text: text[:9])
def test_decode_sentence_is_read_in_the_encodings_of_its_language(text: str, before: str) -> None:
    for codec in LANGUAGES[text].split():
        assert decode((before + text).encode(codec)) == before + text, codec


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_decode_utf8_is_read_as_utf8(text: str) -> None:
    if "\0" not in text:
        assert decode(text.encode("utf-8")) == text.removeprefix("\ufeff")
    assert decode(b"\xef\xbb\xbf" + text.encode("utf-8")) == text


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_decode_utf16_without_mark_is_detected(codec: str) -> None:
    data = (WESTERN * 3).encode(codec)
    assert decode(data) == WESTERN * 3
    assert not is_binary(data)


def test_decode_utf8_with_damaged_byte_stays_utf8() -> None:
    data = ("Žluťoučký kůň. " * 20).encode()
    assert decode(data[:-1] + b"\xff") == "Žluťoučký kůň. " * 19 + "Žluťoučký kůň.\ufffd"


def test_decode_declared_encoding_that_fits_is_used() -> None:
    data = "İstanbul’da ağaç".encode("cp1254")
    assert decode(data, "windows-1254") == "İstanbul’da ağaç"
    assert decode(WESTERN.encode("cp1252"), "no-such-thing") == WESTERN
    assert decode(WESTERN.encode("utf-8"), "latin-1") == WESTERN


@pytest.mark.parametrize(
    "data",
    [bytes(range(256)) * 8, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\1\0\2\0\3\0\4\0" * 50, b"\0" * 64],
    ids=["every byte", "PNG", "int16", "zeros"],
)
def test_is_binary_control_bytes_are_binary(data: bytes) -> None:
    assert is_binary(data)


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "gb18030", "shift_jis"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
@pytest.mark.parametrize("packed", [False, True])
def test_lines_any_encoding_yields_each_line(tmp_path: Path, codec: str, end: str, packed: bool) -> None:
    written = [ENGLISH, "", TEXTS.get(codec, WESTERN), "x" * 200_000, TEXTS.get(codec, WESTERN)]
    data = (end.join(written) + end).encode(codec)
    path = tmp_path / ("f.txt.gz" if packed else "f.txt")
    path.write_bytes(gzip.compress(data) if packed else data)
    read = list(lines(path))
    assert read[: len(written)] == written and not any(read[len(written) :])


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-20], lambda data: data[:10] + b"\xff" + data[11:], lambda _: b"x"]
)
def test_readers_damaged_gzip_is_named(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    records = b"\n".join(b'{"id": %d, "question": "who?", "answers": [], "triples": []}' % i for i in range(999))
    path = tmp_path / "q.jsonl.gz"
    path.write_bytes(damage(gzip.compress(records)))
    for read in (lines, read_questions, read_graph_questions, read_triples, lambda path: read_openie(path, print)):
        with pytest.raises(DataError, match=r"q\.jsonl\.gz cannot be read to its end \(.+\)\. Fetch or pack it again"):
            list(read(path))


def test_decode_utf8_cut_within_a_character_keeps_the_rest() -> None:
    whole = "Die Brücke bei Ähren. Der Bürgermeister heißt Götz.".encode()
    assert decode(whole[: whole.rindex(b"\xc3") + 1]) == "Die Brücke bei Ähren. Der Bürgermeister heißt G\ufffd"
    assert decode("Café".encode("cp1252")) == "Café"


def test_decode_lines_of_two_encodings_are_each_right() -> None:
    lines = ("Der Förster heißt Lößl.", "Die Förstersfrau heißt Käthe.", "Müller auch.")
    data = b"\n".join(line.encode(codec) for line, codec in zip(lines, ("cp1252", "utf-8", "cp1252"), strict=True))
    assert decode(data) == "\n".join(lines)


def test_lines_of_two_encodings_are_each_right(tmp_path: Path) -> None:
    rows = ("ville;maire", "Nîmes;Françoise Lefèvre", "Orléans;Zoé", "Évian;Noël")
    codecs = ("ascii", "cp1252", "utf-8", "cp1252")
    file = tmp_path / "maires.csv"
    file.write_bytes(b"".join(row.encode(codec) + b"\n" for row, codec in zip(rows, codecs, strict=True)))
    assert tuple(lines(file)) == rows
