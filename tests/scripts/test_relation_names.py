"""Other names of relations: each belongs to a relation of its graph, and a drawn group has them in all candidates."""

import random
from pathlib import Path

import numpy as np
from parser_data import Group
from parser_written import read_graphs
from relation_names import NAMES, RelationNames

GROUP = Group(
    "Who made it?",
    [("Who made it?", "the made by of it (Ida; made by hand)"), ("Who made it?", "those whose lies on is it")],
    np.array([1, 0], np.float32),
    np.array([1, 0], np.float32),
)


def test_relation_names_each_belongs_to_a_relation_of_its_graph() -> None:
    rows = [line.split("\t") for line in NAMES.read_text("utf-8").splitlines()]
    graphs = {
        name: set(facts.relations) for name, facts, _ in read_graphs(NAMES.parent / "graphs", [*{r[0] for r in rows}])
    }
    for graph, relation, *others in rows:
        assert relation in graphs[graph], (graph, relation)
        assert len(others) == 3 and all(others) and relation not in others, (graph, relation)


def test_drawn_group_of_a_graph_has_other_names_in_all_candidates(tmp_path: Path) -> None:
    file = tmp_path / "relations.tsv"
    file.write_text("mills\tmadeBy\tbuilder\tconstructed_by\thasMaker\nmills\tof\tx\ty\tz\n", "utf-8")
    names, draw = RelationNames(file), random.Random(0)
    drawn = [names.drawn("written 0 mills lacking", GROUP, draw) for _ in range(40)]
    texts = {group.pairs[0][1] for group in drawn}
    assert "the made by of it (Ida; made by hand)" in texts and "the builder of it (Ida; builder hand)" in texts
    assert len(texts) == 4 and all(group.pairs[1][1] == GROUP.pairs[1][1] for group in drawn)
    assert names.drawn("written 0 boats", GROUP, draw) is GROUP
