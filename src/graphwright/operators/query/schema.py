"""Names that queries may use: types with their relations, and relations with an example."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphwright.search.facts import Facts

_LISTED = 200  # types, and relations


def schema(facts: Facts) -> dict[str, Any]:
    """Return the types and relations of facts as JSON values, the most frequent first, 200 of each at most.

    A type has the number of its things and the relations that these have; a relation the number of its facts and one
    object.

    >>> listed = schema(Facts.of_rows([{"city": "Graz", "river": "Mur"}, {"city": "Linz"}], "cities"))
    >>> listed["types"], listed["relations"][0]
    ([{'name': 'cities', 'count': 2, 'relations': ['city', 'river']}], {'name': 'city', 'count': 2, 'example': 'Graz'})
    """
    subjects = np.unique(
        np.concatenate([facts.relation(name).subjects for name in facts.relations] or [np.empty(0, int)])
    )
    counts = {name: count for name, count in facts.types_of(subjects).items() if name in facts.types}
    types = [
        {"name": name, "count": count, "relations": list(facts.columns_of(name))}
        for name, count in list(counts.items())[:_LISTED]
    ]
    sizes = sorted(((len(facts.relation(name)), name) for name in facts.relations), key=lambda item: -item[0])
    relations = [
        {"name": name, "count": size, "example": facts.texts(facts.relation(name).object(np.arange(1)))[0]}
        for size, name in sizes[:_LISTED]
        if size
    ]
    return {"types": types, "relations": relations}
