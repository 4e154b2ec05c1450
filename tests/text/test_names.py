"""Normal forms and aliases of names."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphwright.text.names import aliases_of, name_words, normal_form


@pytest.mark.parametrize(
    "forms",
    [
        ("Akinoshū Kenji", "akinoshu  kenji", "AKINOSHU KENJI"),
        ("The Rank Organisation", "Rank Organisation", "the rank organisation"),
        ("U.S. Army", "US Army", "us army"),
        ("Person-centered therapy", "person - centered therapy", "Person–Centered Therapy"),
        ("Alexander and the Terrible, Horrible Day", "Alexander And The Terrible Horrible Day"),
        ("Straße", "STRASSE"),
        ("Inna's", "Inna", "Inna’s"),
        ("J. K. Rowling", "J.K. Rowling", "JK Rowling"),
    ],
)
def test_variants_of_name_share_normal_form(forms):
    assert len({normal_form(form) for form in forms}) == 1


@pytest.mark.parametrize(
    ("item", "other"),
    [
        ("Madonna (book)", "Madonna"),
        ("1920", "1921"),
        ("किताब", "कताब"),  # vowel signs carry meaning
        ("Hello Love", "Hello, Lover"),
        ("A", "The"),  # an article alone is not dropped
    ],
)
def test_different_names_have_different_normal_forms(item, other):
    assert normal_form(item) != normal_form(other)


@pytest.mark.parametrize("name", ["", " ", "—", "(…)", "!?"])
def test_name_without_letters_has_no_normal_form(name):
    assert normal_form(name) == ""
    assert aliases_of(name) == ()


@pytest.mark.parametrize(
    ("name", "aliases"),
    [
        ("Lilu (mythology)", ("lilu",)),
        ("Rochester, New York", ("rochester",)),
        ("Midway (near Pleasant Plains), White County, Arkansas", ("midway",)),
        ("Get Low (Dillon Francis and DJ Snake song)", ("get low",)),
        ("Robert F. Smith (politician)", ("robert f smith", "robert smith")),
        ("Charles E. Young, Jr.", ("charles e young", "charles young")),
        ("Declaration of St. Pierre", ()),
        ("2001 (film)", ()),  # a bare number is nobody's alias
        ("Madonna", ()),
    ],
)
def test_aliases_equal_worked_examples(name, aliases):
    assert aliases_of(name) == aliases


@given(st.text(max_size=40))
@example("\u0f7a")
def test_normal_form_is_stable(name):
    form = normal_form(name)
    assert form == " ".join(form.split())
    assert normal_form(f"  {name} ") == form
    assert normal_form(unicodedata.normalize("NFD", name)) == normal_form(unicodedata.normalize("NFC", name))


@given(st.text(max_size=40))
def test_aliases_differ_from_own_normal_form(name):
    result = aliases_of(name)
    assert len(set(result)) == len(result)
    assert normal_form(name) not in result
    assert all(alias and " ".join(name_words(alias)) == alias for alias in result)
