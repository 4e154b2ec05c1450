"""Options of operators, of what they are given, and of training: what each refuses, and how the error names it."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest
from tests.shared import corpus_index
from tests.toys import untrained

from graphwright.errors import OptionError
from graphwright.generate import (
    AnswerIfEnough,
    ChainAnswer,
    ChainContext,
    CommunityReports,
    Generate,
    ReportContext,
    TreeReports,
)
from graphwright.learn import ConfidentPaths, Decode
from graphwright.learn.training import Schedule
from graphwright.models import HashEncoder, OverlapCrossEncoder, ScriptedLLM
from graphwright.operators import (
    BeamSearch,
    Bubble,
    Chains,
    Choose,
    CommunityOf,
    CommunitySearch,
    Coverage,
    EnumeratedPaths,
    Explore,
    Feedback,
    FlowPaths,
    GRanker,
    HypotheticalPassage,
    Induce,
    Keep,
    Keywords,
    KHop,
    LengthPenalty,
    LocalContext,
    MultiHopRerank,
    Patterns,
    PersonalizedPageRank,
    PhraseSeeds,
    Plan,
    Prizes,
    PrizeTree,
    RandomWalk,
    RateCommunities,
    RelationPaths,
    Rerank,
    SentenceThought,
    SharedBudget,
    SharedWords,
    ShortestPaths,
    Shuffled,
    Steps,
    STeX,
    Summaries,
    SummaryTree,
    Think,
    ToPassages,
    TreeSearch,
    TripleSearch,
)
from graphwright.operators.anchors.group_anchors import GroupAnchors, GroupByModel
from graphwright.operators.anchors.keywords import LatentKeywords, Relax, Specialise
from graphwright.operators.grow import GrowByModel
from graphwright.operators.rerank.fitted_scorer import Cover
from graphwright.operators.rerank.scorer import Composed

SNAPSHOT = corpus_index().snapshot
VECTORS = SNAPSHOT.passages
LLM, ENCODER, RETRIEVER = ScriptedLLM([]), HashEncoder(), untrained("path")
SUMMARIES, TREE, PRIZES = Summaries(VECTORS), SummaryTree(VECTORS), Prizes(VECTORS)

COUNT = (0, -1, 1.5, True, "2")  # refused where at least one is required
FROM_ZERO = (-1, 1.5, True, "2")
WEIGHT = (-0.1, nan, inf, True, "1")

REFUSED: list[tuple[Any, dict[str, tuple[object, ...]]]] = [
    (AnswerIfEnough(LLM), {"model": ("gpt",), "passages": COUNT}),
    (BeamSearch(ENCODER), {"model": (None, "gpt", Induce()), "width": COUNT, "length": COUNT, "slack": WEIGHT}),
    (BeamSearch(Choose(LLM)), {"slack": (0.5,)}),
    (Bubble(VECTORS), {"hops": FROM_ZERO, "budget": COUNT}),
    (Chains(), {"length": COUNT}),
    (ChainAnswer(ENCODER), {"encoder": (3,), "step": (1,)}),
    (ChainContext(), {"passages": COUNT, "tokens": (10,)}),
    (Choose(LLM), {"model": (ENCODER,), "batch": (1, 2.5), "rounds": COUNT}),
    (CommunityOf(), {"max_nodes": COUNT}),
    (CommunityReports(SUMMARIES), {"level": FROM_ZERO}),
    (CommunitySearch(SUMMARIES), {"level": FROM_ZERO}),
    (Composed(SNAPSHOT.names), {"names": (None, ENCODER)}),
    (Cover(0.5, 1.0), {"open": (1.1, *WEIGHT), "overlap": WEIGHT}),
    (ConfidentPaths(RETRIEVER), {"retriever": (ENCODER,), "threshold": (1.1, *WEIGHT)}),
    (Coverage(VECTORS), {"alpha": (701, *WEIGHT)}),
    (EnumeratedPaths(2), {"length": COUNT, "max_paths": COUNT}),
    (Decode(RETRIEVER), {"length": COUNT, "max_edges": COUNT}),
    (
        Explore(Rerank(ENCODER)),
        {"ranker": ("gpt",), "width": COUNT, "depth": COUNT, "max_nodes": COUNT, "max_relations": COUNT},
    ),
    (Feedback(VECTORS), {"beta": WEIGHT}),
    (
        FlowPaths(),
        {"decay": (0.0, 1.5), "threshold": WEIGHT, "hops": COUNT, "per_pair": COUNT, "max_edges": COUNT},
    ),
    (Generate(LLM), {"model": ("gpt",)}),
    (GRanker(OverlapCrossEncoder()), {"cross_encoder": ("a name",), "alpha": (1.5, *WEIGHT)}),
    (GroupAnchors(None, None), {"k": COUNT, "near": (1.5, *WEIGHT)}),
    (GroupByModel(None, None, LLM), {"model": ("gpt",), "k": COUNT}),
    (
        GrowByModel(model=LLM),
        {"model": ("gpt",), "depth": FROM_ZERO, "width": COUNT},
    ),
    (HypotheticalPassage(VECTORS, LLM), {"model": ("gpt",)}),
    (Keywords(LLM), {"model": ("gpt",)}),
    (KHop(1), {"k": FROM_ZERO}),
    (LatentKeywords(LLM), {"model": ("gpt",), "passages": FROM_ZERO}),
    (LengthPenalty(Keep()), {"penalty": WEIGHT}),
    (LocalContext(SUMMARIES), {"level": FROM_ZERO, "relations": FROM_ZERO, "communities": FROM_ZERO}),
    (MultiHopRerank(ENCODER), {"model": ("bge",), "contexts": FROM_ZERO, "temperature": (0, *WEIGHT)}),
    (Patterns(ENCODER), {"model": (None,)}),
    (PersonalizedPageRank(), {"restart": (0.0, 1.0)}),
    (PhraseSeeds(VECTORS), {"weight": WEIGHT}),
    (Plan(LLM), {"model": ("gpt",), "max_relations": COUNT}),
    (PRIZES, {"k": COUNT}),
    (PrizeTree(PRIZES), {"cost": WEIGHT, "nodes": COUNT}),
    (RandomWalk(), {"walks": COUNT, "length": COUNT, "restart": (1.0,)}),
    (RateCommunities(LLM, SUMMARIES), {"model": (None,), "level": FROM_ZERO, "batch": COUNT}),
    (RelationPaths(), {"length": COUNT, "max_edges": COUNT}),
    (Relax(LLM), {"model": (3, None), "passages": FROM_ZERO}),
    (ReportContext(TreeReports(TREE)), {"passages": COUNT, "tokens": (499,)}),
    (Rerank(ENCODER), {"model": ("all-MiniLM-L6-v2",)}),
    (
        Schedule(),
        {name: COUNT for name in ("epochs", "patience", "batch", "negatives")} | {"rate": (0,), "held_out": (0, 1)},
    ),
    (SentenceThought(ENCODER), {"passages": COUNT}),
    (SharedBudget(ToPassages()), {"limit": COUNT, "read": FROM_ZERO}),
    (SharedWords(SNAPSHOT.words), {"weight": WEIGHT, "threshold": (1.1, *WEIGHT)}),
    (ShortestPaths(), {"max_paths": COUNT}),
    (Shuffled(), {"seed": FROM_ZERO}),
    (Specialise(LLM), {"model": ("gpt",)}),
    (Steps(ENCODER), {"model": ("minilm",)}),
    (STeX(VECTORS), {"beta": WEIGHT}),
    (SUMMARIES, {"statements": COUNT, "max_size": COUNT}),
    (Think(LLM), {"model": ("gpt",)}),
    (ToPassages(), {"limit": COUNT}),
    (TREE, {"size": (1,), "central": COUNT}),
    (TreeReports(TREE), {"limit": COUNT}),
    (TreeSearch(TREE), {"per_summary": COUNT}),
    (TripleSearch(None), {"limit": COUNT}),
]


@pytest.mark.parametrize(("valid", "refused"), REFUSED, ids=lambda part: type(part).__name__)
def test_invalid_option_raises_with_its_name(valid: Any, refused: dict[str, tuple[object, ...]]) -> None:
    for name, values in refused.items():
        for value in values:
            with pytest.raises(OptionError, match=rf"{type(valid).__name__}: {name} is {re.escape(repr(value))[:40]}"):
                replace(valid, **{name: value})
