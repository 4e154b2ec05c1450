"""Topics, the shorter names they go by, and where other texts name them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphwright.index.topics import claimed_aliases, named_in, topic_of

WORDS = ["iron", "mountain", "lake", "of", "the", "demon"]


def test_a_title_without_a_letter_is_no_topic_and_numbers_and_short_names_are_none() -> None:
    assert topic_of("?!", ["ab", "3rd of May", "Graz", "Mur"]) == "Graz"
    assert topic_of("", ["ab", "1974"]) == "" == topic_of("  ", [])


def test_an_alias_that_is_a_topic_itself_means_the_others_too() -> None:
    assert claimed_aliases({"Lilu": 1, "Lilu (mythology)": 3, "Lilu (film)": 2}) == {"lilu": [2, 3]}
    # Two spellings of one topic claim once; nothing claims its own form.
    assert claimed_aliases({"Lilu (myth)": 3, "LILU (Myth)": 3}) == {"lilu": [3]}
    assert claimed_aliases({f"Lilu ({i}th)": i for i in range(6)}) == {}
    assert claimed_aliases({"X (letter)": 1}) == {}


def test_longer_and_shorter_forms_are_both_found_in_any_case_and_accent() -> None:
    sought = {"iron mountain": 1, "iron mountain lake": 2, "of the": 3, "iron": 4}
    texts = ["At the IRON  Mountain-Lake’s shore", "an environ mountain", "irón mountain, of the lake", "", "iron ore"]
    assert named_in(texts, sought) == [[1, 2], [], [1], [], []]


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.sets(st.lists(st.sampled_from(WORDS), max_size=3).map(tuple)))
def test_named_in_equals_a_search_for_each_form(text: list[str], forms: set[tuple[str, ...]]) -> None:
    sought = {" ".join(form): at for at, form in enumerate(sorted(forms))}
    padded = f" {' '.join(text)} "
    # Forms of one word, and of stop words only, are not looked for.
    wanted = {
        at for form, at in sought.items() if f" {form} " in padded and " " in form and set(form.split()) - {"of", "the"}
    }
    (found,) = named_in([f"{' '.join(text)} and so on"], sought)
    assert set(found) == wanted and len(found) == len(wanted)


def test_the_last_word_of_a_text_is_no_form_of_two_words() -> None:
    assert named_in(["bread and iron"], {"iron mountain": 1, "iron": 4}) == [[]]
