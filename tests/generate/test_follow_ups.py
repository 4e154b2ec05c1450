import pytest

from graphwright import Index
from graphwright.generate.follow_ups import COMPLETE, DEPENDENT, SOCIAL, Turn, follow_up_model
from graphwright.models.fake import HashEncoder
from graphwright.search import Snapshot

DOCUMENTS = [
    {"id": "organ", "text": "Nils Berg repaired the organ of Tarnby in 1903."},
    {"id": "bells", "text": "Eva Lund repaired the bells of Tarnby in 1911. I meant to thank her, she said, sorry."},
    {"id": "ticket", "text": "The ticket to Orrin costs 9 crowns on Fridays and 12 crowns on Sundays."},
    {"id": "stars", "text": "Die Sternwarte öffnet um acht Uhr. Das Planetarium öffnet um zehn Uhr."},
    {"id": "choir", "text": "The orchestra of Lorn is led by Piet Anker. The choir of Hadsel is led by Mirta Sol."},
]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    index = Index.create(tmp_path_factory.mktemp("follow-ups") / "index", encoder=HashEncoder())
    index.add(DOCUMENTS)
    return index.snapshot


@pytest.mark.parametrize(
    ("topic", "text", "question"),
    [
        ("Who repaired the organ of Tarnby?", "no, I meant the bells", "Who repaired the bells of Tarnby?"),
        (
            "How much is the ticket to Orrin on Fridays?",
            "on Sundays, sorry",
            "How much is the ticket to Orrin on Sundays?",
        ),
        ("Wann öffnet die Sternwarte?", "ich meinte das Planetarium", "Wann öffnet das Planetarium?"),
        ("Wann öffnet die Sternwarte?", "Und das Planetarium?", "Wann öffnet das Planetarium?"),
        ("Who repaired the organ of Tarnby in 1903?", "And in 1911?", "Who repaired the organ of Tarnby in 1911?"),
    ],
)
def test_replaced_correction_replaces_part_of_question(
    topic: str, text: str, question: str, snapshot: Snapshot
) -> None:
    assert follow_up_model().replaced(Turn(text, topic), snapshot).lower() == question.lower()


@pytest.mark.parametrize(
    "text", ["Who paid for it?", "When does the library open on Mondays?", "Thank you!", "How old is she?"]
)
def test_replaced_turn_that_corrects_nothing_replaces_nothing(text: str, snapshot: Snapshot) -> None:
    assert follow_up_model().replaced(Turn(text, "Who repaired the organ of Tarnby?"), snapshot) == ""


def test_replaced_first_turn_replaces_nothing(snapshot: Snapshot) -> None:
    assert follow_up_model().replaced(Turn("no, I meant the bells"), snapshot) == ""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Wann öffnet das Planetarium?", COMPLETE),
        ("Was kostet die Karte nach Orrin am Sonntag?", COMPLETE),
        ("Wer hat die Orgel von Tarnby repariert?", COMPLETE),
        ("Und wann schließt sie?", DEPENDENT),
        ("Vielen Dank!", SOCIAL),
    ],
)
def test_kind_turn_in_german_after_a_question_is_told(text: str, kind: int, snapshot: Snapshot) -> None:
    assert follow_up_model().kind(Turn(text, "Wann öffnet die Sternwarte?"), snapshot) == kind


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("Wann öffnet die Sternwarte?", "Und wann schließt sie?"),
        ("À quelle heure ouvre le planétarium ?", "Et à quelle heure ferme-t-il ?"),
        ("¿Cuándo abre el planetario?", "¿Y cuándo cierra?"),
    ],
)
def test_replaced_question_with_another_verb_replaces_nothing(topic: str, text: str, snapshot: Snapshot) -> None:
    assert follow_up_model().replaced(Turn(text, topic), snapshot) == ""
