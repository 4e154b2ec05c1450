"""YAML, TOML, INI, XML and logfmt: their objects as text with the keys, and as records; comments of the first three."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from configparser import Error as ConfigParserError
from configparser import RawConfigParser
from dataclasses import replace
from functools import cache, partial
from typing import Any

from graphwright.data.decoding import decode
from graphwright.data.formats.format import Extracted, File, Format, TextBuilder, UnreadableError
from graphwright.data.formats.parsing.comments import (
    Finder,
    commented_settings,
    ini_comments,
    toml_comments,
    yaml_comments,
)
from graphwright.data.formats.parsing.wikitext import WIKI, exported_pages
from graphwright.data.formats.parsing.xml import Element, local, parsed_xml
from graphwright.data.records.delimited import table_of
from graphwright.data.records.objects import object_file
from graphwright.data.records.record import file_type
from graphwright.data.records.references import with_names
from graphwright.data.records.table import Table

_XML = (".xml", ".rss", ".atom", ".opml", ".gpx", ".kml", ".xsd", ".wsdl")
_PAIR = re.compile(r'([A-Za-z_][\w.-]*)=(?:"((?:[^"\\]|\\.)*+)"|([^\s"=]*+))(?!\S)')
_LOGFMT = re.compile(rf"(?:{_PAIR.pattern}\s*)+")
_PLAIN = (".txt", ".tab", ".dat", ".psv", "")
_SAMPLE = 20  # lines


def yaml_value(text: str) -> Any:
    """Return the value of a YAML file, a list of several documents; None for one that is not YAML.

    Scalars stay as written, besides null: `no` is a text, and so is a date.

    >>> yaml_value("a: no\\nb: 2024-05-01\\nc: ~"), yaml_value("a: {{ b }}: c")
    ({'a': 'no', 'b': '2024-05-01', 'c': None}, None)
    """
    import yaml

    try:
        values = [value for value in yaml.load_all(text, _loader()) if value is not None]
    except (yaml.YAMLError, RecursionError, ValueError, TypeError):
        return None
    return values[0] if len(values) == 1 else values


@cache
def _loader() -> Any:
    """Return a loader of YAML that resolves nothing but null and merged mappings."""
    import yaml

    kept = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] in ("null", "merge")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    loader: Any = type("TextLoader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": kept})
    loader.add_multi_constructor("", _untagged)
    return loader


def _untagged(loader: Any, suffix: str, node: Any) -> Any:
    """Return a value with a tag of a program, such as `!Ref`, without it."""
    kind = type(node).__name__
    if kind == "MappingNode":
        return loader.construct_mapping(node, deep=True)
    return loader.construct_sequence(node, deep=True) if kind == "SequenceNode" else loader.construct_scalar(node)


def toml_value(text: str) -> dict[str, Any] | None:
    """Return the value of a text in TOML; None for one that is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def ini_value(text: str) -> dict[str, Any] | None:
    r"""Return the sections of a text in INI, and the settings before them; None for one that is not INI.

    >>> ini_value("[db]\nport = 1"), ini_value("db.port: 1\n[log]\nlevel=2"), ini_value("In words.")
    ({'db': {'port': '1'}}, {'db.port': '1', 'log': {'level': '2'}}, None)
    """
    parser, top = RawConfigParser(strict=False, allow_no_value=True, inline_comment_prefixes=(";",)), "\0"
    parser.optionxform = str  # type: ignore[method-assign,assignment]  # keys keep their case
    try:
        parser.read_string(f"[{top}]\n{text}")
    except ConfigParserError:
        return None
    sections = {name: {key: value or "" for key, value in parser[name].items()} for name in parser.sections()}
    settings = sections.pop(top)
    return {**settings, **sections} if all(settings.values()) else None


def _read(parsed: Callable[[str], Any], comments: Finder, file: File) -> Iterator[Extracted]:
    """Yield the values of a file as text and records, then its comments; a damaged file as it is."""
    text = file.text()
    value = parsed(text)
    part = object_file(with_names(value), file_type(file.name)) if value else None
    if part is None:
        yield Extracted(text)
        return
    said = commented_settings(text, comments)
    yield replace(part, text="\n\n".join(filter(None, (part.text, said))))


def read_xml(file: File) -> Iterator[Extracted]:
    """Yield the elements of an XML file as text with their names, and as records; a damaged file as it is.

    The pages of an export of MediaWiki are documents of their own.
    """
    try:
        root = parsed_xml(file.data())
        kind = local(root)
        value = xml_value(root) if kind != WIKI else None
    except (UnreadableError, RecursionError):
        yield Extracted(file.text())
        return
    if kind == WIKI:
        yield from exported_pages(root)
        return
    part = object_file(with_names(value) if isinstance(value, Mapping) else {kind: value}, kind)
    yield part if part is not None and part.text else Extracted(file.text())


def xml_value(element: Element, depth: int = 0) -> Any:
    """Return an element as an object: attributes and elements by name, repeated ones as a list; a text as a text.

    An element with text between its elements is a text, and one with neither an object of its attributes. Elements of
    the root that hold elements are always a list, so that a list of one is one, too; an element alone in the root is as
    the root. If all elements in it have one attribute, the same, that tells them apart, and a
    text, this is their name: `<field name="city">Graz</field>`.

    >>> xml_value(parsed_xml(b'<c><p sku="K"><price unit="EUR">12</price><tag>a</tag><tag>b</tag></p></c>'))
    {'p': [{'sku': 'K', 'price': '12', 'price.unit': 'EUR', 'tag': ['a', 'b']}]}
    """
    attributes = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
    children = [child for child in element if local(child)]
    texts = (element.text, *(child.tail for child in children))
    if not children or any(text and text.strip() for text in texts):
        text = " ".join("".join(element.itertext()).split())
        return {**attributes, **({"": text} if text else {})} if attributes else text
    members: dict[str, list[Any]] = {name: [value] for name, value in attributes.items()}
    if names := _names(children):
        return {**attributes, **{name: xml_value(child)[""] for name, child in names.items() if child.text}}
    inner = depth + (depth > 0 or len(children) > 1)
    for child in children:
        value = xml_value(child, inner)
        if isinstance(value, dict) and "" in value:  # a text with attributes
            own = value.pop("")
            members.setdefault(local(child), []).append(own)
            for name, attribute in value.items():
                members.setdefault(f"{local(child)}.{name}", []).append(attribute)
        else:
            members.setdefault(local(child), []).append(value)
    lists = {local(child) for child in children if len(child) and not depth}
    return {
        name: v if len(v) > 1 or (name in lists and isinstance(v[0], dict)) else v[0] for name, v in members.items()
    }


def _names(children: Sequence[Element]) -> dict[str, Element]:
    """Return texts by the attribute that tells them apart, none for other elements."""
    names = {value: child for child in children for value in child.attrib.values() if not len(child)}
    attributes = {name for child in children for name in child.attrib}
    one_each = all(len(child.attrib) == 1 for child in children)
    return names if one_each and len(attributes) == 1 and len(names) == len(children) > 1 else {}


def _pairs(line: str) -> dict[str, str]:
    """Return the pairs of a line of a log in logfmt, none for another line.

    >>> _pairs('level=warn msg="disk full" ms=930')
    {'level': 'warn', 'msg': 'disk full', 'ms': '930'}
    """
    pairs = [match.groups() for match in _PAIR.finditer(line)] if _LOGFMT.fullmatch(line.strip()) else []
    return {key: re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else plain for key, quoted, plain in pairs}


def _is_logfmt(head: bytes, suffix: str) -> bool:
    lines = [line for line in (decode(head) or "").split("\n")[:_SAMPLE] if line.strip()]
    return len(lines) > 1 and all(len(_pairs(line)) > 1 for line in lines[: -1 if len(lines) > 2 else None])


def _read_logfmt(file: File) -> Iterator[Extracted]:
    """Yield the lines of a log in logfmt as text and records; any other line as it is."""
    lines = [line for line in file.text().split("\n") if line.strip()]
    part = object_file([_pairs(line) or {"": line.strip()} for line in lines], file_type(file.name))
    yield part or Extracted(file.text())


def _is_table(head: bytes, suffix: str) -> bool:
    lines = (decode(head) or "").split("\n")[:_SAMPLE] if suffix in _PLAIN else []
    return table_of(lines[:-1] if len(lines) == _SAMPLE else lines) is not None


def _read_table(file: File) -> Iterator[Extracted]:
    """Yield the rows of a text that is a table, as sentences and records; another text as it is."""
    text, builder = file.text(), TextBuilder()
    rows = table_of(text.split("\n"))
    builder.table(Table(rows or (), title=file_type(file.name)))
    yield builder.extracted() if rows else Extracted(text)


FORMATS = (
    Format("table", (), _read_table, by_content=_is_table),
    Format("logfmt", (), _read_logfmt, by_content=_is_logfmt),
    Format("YAML", (".yaml", ".yml"), partial(_read, yaml_value, yaml_comments)),
    Format("TOML", (".toml", ".lock"), partial(_read, toml_value, toml_comments)),
    Format("INI", (".ini", ".cfg", ".properties"), partial(_read, ini_value, ini_comments)),
    Format("XML", _XML, read_xml, by_content=lambda head, _: head.lstrip(b"\xef\xbb\xbf \r\n").startswith(b"<?xml ")),
)
