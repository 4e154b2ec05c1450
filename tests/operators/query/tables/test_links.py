"""Links from questions to tables: whole cells, parts, words like them, amounts and names of columns."""

from tests.operators.query.tables.tickets import facts_of, ticket_facts

from graphwright.operators.query.tables.links import TableIndex, amounts_of, question_words
from graphwright.search.facts import Facts

INDEX = TableIndex(ticket_facts())


def test_links_cell_in_two_tables_is_linked_in_both() -> None:
    links = INDEX.links("How many hours did Ada spend?", {})
    columns = {INDEX.tables[t].columns[link.column].name for t, found in links.items() for link in found.cells}
    assert columns == {"owner", "Name"}


def test_links_name_of_column_is_said_by_a_similar_word() -> None:
    links = INDEX.links("Which employee has the highest salaries?", {})
    said = {column.name: links[1].headers[at][0] for at, column in enumerate(INDEX.tables[1].columns)}
    assert said["Salary"] > 0.5 > said["Department"]


def test_links_word_of_one_column_names_it_more_than_words_of_a_header_over_several() -> None:
    index = TableIndex(Facts.of_rows([{"boat": "Barge", "fee per day / summer": "95", "fee per day / winter": "60"}]))
    summer, winter = (score for score, _ in index.links("What does a barge pay in winter?", {})[0].headers[1:])
    assert winter > 0.5 > summer


def test_links_words_within_a_cell_are_a_part() -> None:
    index = TableIndex(Facts.of_rows([{"river": "Upper Mur valley"}, {"river": "Enns"}]))
    link, *_ = index.links("how long is the mur valley", {"the": 0.5, "is": 0.5})[0].cells
    assert (link.kind, link.text, link.start, link.end) == ("part", "mur valley", 4, 6)


def test_links_misspelt_word_is_like_a_cell() -> None:
    index = TableIndex(Facts.of_rows([{"city": "Klagenfurt"}, {"city": "Graz"}]))
    (link,) = index.links("rivers of klagenfurth", {})[0].cells
    assert (link.kind, link.text) == ("like", "klagenfurt")


def test_links_plural_of_a_cell_is_linked_as_the_cell() -> None:
    index = TableIndex(Facts.of_rows([{"kind": "Sea eagle"}, {"kind": "wren"}, {"kind": "doe"}]))
    links = index.links("How many wrens and sea eagles does it have?", {"does": 0.3})[0].cells
    assert {(link.kind, link.text) for link in links if link.kind == "cell"} == {
        ("cell", "wren"),
        ("cell", "Sea eagle"),
    }


def test_links_facts_without_records_have_no_tables() -> None:
    assert TableIndex(Facts.of_rows([])).links("anything?", {}) == {}


def test_amounts_of_number_in_words_and_ordinal_are_digits() -> None:
    question = "top three, or the 3rd, since May 2011?"
    assert [amount.text for amount in amounts_of(question, question_words(question))] == ["3", "3", "May 2011"]


def test_links_table_that_a_column_of_another_leads_to_is_searched_too() -> None:
    halls = [{"hall": hall, "built": built} for hall, built in (("Rex", "1911"), ("Lumen", "1987"), ("Mill", "1850"))]
    shows = [{"show": show, "place": hall} for show, hall in (("Ida", "Rex"), ("Aida", "Mill"), ("Faust", "Lumen"))]
    others = {f"show {number}": [{"show": "Aida", "year": str(number)}] for number in range(3)}
    index = TableIndex(facts_of({"shows": shows, "halls": halls, **others}))
    found = [index.tables[number].type for number in index.links("Which show of Aida is in a place?", {}, 1)]
    assert found == ["shows", "halls"]
