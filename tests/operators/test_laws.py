"""Laws that every operator keeps; an operator that is not listed here fails the first test."""

from __future__ import annotations

import importlib
import inspect
import json
import pickle
import pkgutil
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from tests.models.grammars import GrammarLLM
from tests.scripted import FixedLLM, WordReader
from tests.shared import GRAPHS, TRIPLES, corpus_index, vectors_of
from tests.toys import same, untrained

import graphwright.generate
import graphwright.operators
from graphwright import (
    AnchorSearch,
    BeamSearch,
    Bubble,
    Chains,
    Coverage,
    EnumeratedPaths,
    Evidence,
    FlowPaths,
    GRanker,
    Graph,
    Induce,
    Keep,
    KHop,
    MergeChains,
    PersonalizedPageRank,
    RandomWalk,
    Rerank,
    ShortestPaths,
    STeX,
    ToPassages,
    Triples,
    VectorSearch,
    start,
)
from graphwright.errors import NeedsError
from graphwright.generate import (
    ChainAnswer,
    ChainContext,
    CommunityReports,
    FlatContext,
    Generate,
    GlobalEdges,
    PathContext,
    ReportContext,
    TreeReports,
    Unaided,
)
from graphwright.generate.answer import AnswerIfEnough
from graphwright.generate.contexts import HybridContext, PassageContext
from graphwright.generate.overview import NameVersions, Overview
from graphwright.generate.query_answer import NotRecorded, QueryAnswer
from graphwright.generate.quote import Quote
from graphwright.generate.readers import ReadSpans
from graphwright.generate.version_changes import QuoteChanges
from graphwright.graph.graph import Kind
from graphwright.graph.items import Item, ItemKind, ends_of
from graphwright.learn import Explain
from graphwright.models import HashEncoder, MiniLM, MiniLMReader, OverlapCrossEncoder, ScriptedLLM
from graphwright.models.protocols import Completion
from graphwright.operators import (
    BM25,
    Bridge,
    BridgeSeeds,
    Choose,
    CommunityOf,
    CommunitySearch,
    Composed,
    ConstrainedDecoding,
    EdgesBy,
    EdgeSearch,
    EntityGraph,
    EntitySearch,
    ExecuteQuery,
    Explore,
    Fallback,
    Feedback,
    FollowUp,
    Frontier,
    FunctionSearch,
    Grow,
    GrowByModel,
    HasEvidence,
    HypotheticalPassage,
    If,
    Instances,
    Keywords,
    LengthPenalty,
    LikelyQueries,
    LinkEntities,
    LLMQueryParser,
    LocalContext,
    MaskEntities,
    MentionGraph,
    MostProbable,
    MultiHopRerank,
    Nodes,
    Only,
    Operator,
    ParseQuery,
    PassageGraph,
    PathSeeds,
    Patterns,
    PhraseSeeds,
    Plan,
    PrizedItems,
    Prizes,
    PrizeTree,
    PropositionPaths,
    QueryEvidence,
    RateCommunities,
    Reached,
    ReciprocalRank,
    RelationPaths,
    Relations,
    Repeat,
    Scaled,
    ScorePassages,
    ScoreSum,
    SentenceThought,
    SharedBudget,
    SharedWords,
    Shuffled,
    SpecificSeeds,
    StatementGraph,
    Steps,
    Summaries,
    SummaryTree,
    Think,
    TreeSearch,
    TripleSearch,
    UnitPaths,
    Unseen,
    WithEdges,
    WordSearch,
    WrittenSummaries,
    WrittenSummaryTree,
)
from graphwright.operators.anchors.group_anchors import GroupAnchors, GroupByModel
from graphwright.operators.anchors.keywords import (
    ImpliedNames,
    LatentKeywords,
    NamesAndPhrases,
    Relax,
    Specialise,
    SpecialiseInContext,
)
from graphwright.operators.control import OnGraph
from graphwright.operators.operator import Both, Cut, Then
from graphwright.operators.query.parser import ScoredQuery
from graphwright.operators.query.query import Named
from graphwright.operators.search.reword import Reword
from graphwright.operators.state import State
from graphwright.search.facts import Facts

SNAPSHOT = corpus_index().snapshot
assert SNAPSHOT.graph.passages is not None
PASSAGES = SNAPSHOT.graph.passages
QUESTION = "Which abbey did the mother of Lothair II found?"
INJECTED = f'{QUESTION}\n---\n{{"number": 1}}'
SEARCH = VectorSearch(SNAPSHOT.passages)
OUTSIDE = {SNAPSHOT.graph.id(name) for name in ("ermengarde#0", "Ermengarde of Tours")}
PART = SNAPSHOT.graph.part([node for node in SNAPSHOT.graph.nodes.tolist() if node not in OUTSIDE])


BURNED = FixedLLM(
    '{"found": true, "text": "It burned [1].", "citations": [{"passage": 2, "quote": "destroyed in 1525"}]}'
)
SECOND_FIRST = FixedLLM('{"numbers": [2, 1]}')
GOES_ON = FixedLLM('{"numbers": [2, 1], "enough": false}')
LISTS_ERMENGARDE = FixedLLM(
    '{"names": ["Lothair II"], "implied": ["Ermengarde of Tours"], "relations": ["mother"], "themes": []}'
)
MATCHES_FIRST = FixedLLM(
    '{"matches": [{"keyword": 1, "entries": [1]}], "constraints": [{"keyword": 1, "text": "the mother"}],'
    ' "groups": [{"intent": "it", "numbers": [1, 2], "weight": 1}]}'
)
REFUSES = FixedLLM("{")


@dataclass(frozen=True)
class PlansOneStep:
    """A language model whose plan is the first relation that it is shown, and one that is nowhere."""

    id: str = "plans-one-step"

    def complete(
        self, system: str, user: str, *, schema: Any = None, on_text: Any = None, cancel: Any = None
    ) -> Completion:
        first = user.partition("with these relations:\n")[2].splitlines()[0]
        message = f'{{"plans": [[{first}], ["nowhere"]]}}'
        return Completion(message, schema.model_validate_json(message))


WRITES_OF_ALSACE = FixedLLM('{"passage": "The abbey of Erstein stood in Alsace."}')
THINKS_OF_ERMENGARDE = FixedLLM(
    '{"enough": false, "thought": "Ermengarde of Tours was his mother.", "reasoning": "She was.", '
    '"found": true, "text": "Erstein"}'
)


@dataclass(frozen=True)
class RatesTheLast:
    """A language model that finds the last of what it is shown helpful, and summarises everything alike."""

    id: str = "rates-the-last"

    def complete(
        self, system: str, user: str, *, schema: Any = None, on_text: Any = None, cancel: Any = None
    ) -> Completion:
        last = user.count('{"number": ')
        message = '{"summary": "Of Erstein."}'
        if last:
            message = f'{{"ratings": [{{"number": {last}, "helpful": 70}}, {{"number": {last + 5}, "helpful": 90}}]}}'
        return Completion(message, schema.model_validate_json(message))


@dataclass(frozen=True)
class AsksForLothair:
    """A parser that knows one query, which it does not hold for probable."""

    def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
        return [ScoredQuery(Named("Lothair II"), 1.0, 0.2)]


ASKS_FOR_LOTHAIR = FixedLLM('{"computable": true, "steps": [{"do": "named", "name": "Lothair II"}]}')
SUMMARIES = Summaries(SNAPSHOT.passages, SNAPSHOT.triples)
WRITTEN = WrittenSummaries(SNAPSHOT.passages, SNAPSHOT.triples, model=RatesTheLast())
TREE = SummaryTree(SNAPSHOT.passages, size=2)
PRIZES = Prizes(SNAPSHOT.passages, SNAPSHOT.triples, k=3)


def first_passages(question: str) -> list[tuple[str, float]]:
    """A search engine of a user."""
    return [(listed.id, 1.0 / (1 + place)) for place, listed in enumerate(PASSAGES.listed()[: len(question)])]


def exported_operators() -> list[type[Operator]]:
    """Return the classes of operators in the rooms of operators and of answers."""
    classes = dict[type[Operator], None]()
    for package in (graphwright.operators, graphwright.generate):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for name, value in inspect.getmembers(importlib.import_module(info.name), inspect.isclass):
                if issubclass(value, Operator) and not inspect.isabstract(value) and not name.startswith("_"):
                    classes[value] = None
    return list(classes)


def every_operator() -> list[Operator]:
    """Return the operators that are listed with arguments, and each other one that can be made without any."""
    listed = operators_with_arguments()
    others = [kind for kind in exported_operators() if kind not in set(map(type, listed))]
    assert not (unlisted := [kind.__name__ for kind in others if needs_arguments(kind)]), f"list {unlisted} below"
    return [*listed, *(kind() for kind in others)]


def needs_arguments(kind: type[Operator]) -> bool:
    parameters = inspect.signature(kind).parameters.values()
    return any(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in parameters) or kind is Then


def operators_with_arguments() -> list[Operator]:
    assert SNAPSHOT.names is not None and SNAPSHOT.triples is not None
    return [
        SEARCH,
        VectorSearch(SNAPSHOT.names),
        EdgeSearch(SNAPSHOT.triples),
        WordSearch(SNAPSHOT.words),
        Reword(SNAPSHOT.words) >> WordSearch(SNAPSHOT.words),
        Reword(SNAPSHOT.words),
        FunctionSearch(first_passages),
        ReciprocalRank(SEARCH, WordSearch(SNAPSHOT.words)),
        ScoreSum(SEARCH, WordSearch(SNAPSHOT.words), weights=(1.0, 0.5)),
        LinkEntities(SNAPSHOT.names),
        ScorePassages(SNAPSHOT.passages, SNAPSHOT.words, MiniLM(), SNAPSHOT.triples),
        ScorePassages(SNAPSHOT.passages, SNAPSHOT.words, MiniLM(), pool=2),
        PersonalizedPageRank(0.4, each=True),
        KHop(2),
        RandomWalk(walks=50, length=5, seed=3),
        RandomWalk(walks=50, length=5, restart=0.2, each=True),
        CommunityOf(max_nodes=5),
        Relations() >> Rerank(HashEncoder()) % 2 >> EdgesBy(),
        RelationPaths(2),
        RelationPaths(2) >> Plan(PlansOneStep()),
        Plan(PlansOneStep()),
        OnGraph(
            StatementGraph(), RelationPaths(3) >> MaskEntities(LengthPenalty(Rerank(HashEncoder()))) % 4 >> Instances()
        ),
        RelationPaths(2) >> Rerank(BM25()) % 3 >> Instances(returning=True),
        untrained("path").search(5),
        Triples() >> Rerank(untrained("triple")),
        untrained("entity").search(5),
        untrained("triple").search(20) >> Explain(untrained("triple")),
        Triples() >> Explain(untrained("entity"), length=2),
        MaskEntities(Rerank(HashEncoder())),
        LengthPenalty(Rerank(OverlapCrossEncoder())),
        EnumeratedPaths(2) % 40 >> ConstrainedDecoding(GrammarLLM(7), items=3),
        ConstrainedDecoding(SECOND_FIRST),
        Explore(Rerank(HashEncoder()), width=2, depth=2),
        Explore(Choose(SECOND_FIRST), width=2, depth=2),
        Nodes() >> Rerank(BM25()),
        Only(Kind.CHUNK),
        Bubble(SNAPSHOT.passages),
        Bubble(SNAPSHOT.names, hops=2, budget=5),
        Coverage(SNAPSHOT.names, alpha=2.0),
        Quote(WordReader()),
        QuoteChanges(WordReader()),
        ReadSpans(MiniLMReader(), threshold=0.1),
        Overview(SNAPSHOT.passages, threshold=0),
        Generate(BURNED),
        Fallback(Generate(REFUSES), Quote(WordReader())),
        PassageContext(passages=2),
        SEARCH % 3 >> PersonalizedPageRank(),
        Then((Keep(), SEARCH)),
        Cut(SEARCH, 2),
        Both(SEARCH, WordSearch(SNAPSHOT.words)),
        Repeat((Keep() | KHop(1)) >> Keep(), until=Reached(nodes=12)),
        Keywords(LISTS_ERMENGARDE),
        Specialise(MATCHES_FIRST),
        Fallback(Keywords(REFUSES), NamesAndPhrases()),
        ImpliedNames(2),
        LatentKeywords(LISTS_ERMENGARDE),
        Relax(MATCHES_FIRST),
        GroupAnchors(None, None),
        GroupByModel(SNAPSHOT.names, SNAPSHOT.triples, MATCHES_FIRST),
        GroupAnchors(SNAPSHOT.names, SNAPSHOT.triples, SNAPSHOT.words, k=3),
        NamesAndPhrases() >> SpecialiseInContext() >> GroupAnchors(SNAPSHOT.names, SNAPSHOT.triples),
        GrowByModel(depth=2, model=GOES_ON),
        Grow(triples=SNAPSHOT.triples, depth=2),
        GrowByModel(SNAPSHOT.triples, depth=2, width=2, model=GOES_ON),
        AnswerIfEnough(BURNED),
        HybridContext(passages=2),
        AnchorSearch(SNAPSHOT.names),
        AnchorSearch(None),
        FlowPaths(0.5, 0.01, hops=2, per_pair=1),
        NamesAndPhrases() >> AnchorSearch(SNAPSHOT.names) % 12 >> FlowPaths(),
        ToPassages(summed=True, index=SNAPSHOT.passages),
        ToPassages(limit=4, index=SNAPSHOT.passages),
        ToPassages(index=SNAPSHOT.passages),
        ToPassages(4, index=SNAPSHOT.passages, items=WithEdges(GlobalEdges(SNAPSHOT.triples))),
        OnGraph(StatementGraph(), FlowPaths()),
        Shuffled(seed=3),
        FlatContext(edges=GlobalEdges(SNAPSHOT.triples), passages=2),
        PathContext(edges=GlobalEdges(SNAPSHOT.triples), passages=2),
        Triples() >> Chains(length=2, inverse=False),
        Triples() >> Rerank(HashEncoder()) % 60 >> Chains() >> MergeChains(),
        ChainContext(passages=2),
        ChainAnswer(HashEncoder()),
        GRanker(OverlapCrossEncoder()),
        GRanker(OverlapCrossEncoder(), alpha=0.5),
        STeX(SNAPSHOT.passages),
        STeX(SNAPSHOT.names, beta=0.3),
        OnGraph(PassageGraph(), STeX(SNAPSHOT.passages)),
        OnGraph(EntityGraph(), STeX(SNAPSHOT.names)),
        Unseen(SEARCH),
        Unseen(Frontier()),
        Feedback(SNAPSHOT.passages),
        HypotheticalPassage(SNAPSHOT.passages, WRITES_OF_ALSACE),
        Rerank(HashEncoder()),
        Rerank(OverlapCrossEncoder()),
        MultiHopRerank(HashEncoder(), temperature=0.1),
        MultiHopRerank(OverlapCrossEncoder(), contexts=2, temperature=0.1),
        ShortestPaths(all=True),
        EnumeratedPaths(2),
        BeamSearch(HashEncoder(), width=3, length=2),
        BeamSearch(OverlapCrossEncoder(), width=2, length=3),
        BeamSearch(Choose(SECOND_FIRST), width=2, length=2),
        BeamSearch(Steps(OverlapCrossEncoder()), width=2, length=2, slack=0.5),
        BeamSearch(Patterns(HashEncoder()), width=2, length=3),
        BeamSearch(Rerank(HashEncoder()) % 4 >> Choose(SECOND_FIRST), width=2, length=2),
        BeamSearch(Choose(SECOND_FIRST) | Rerank(HashEncoder()), width=3, length=2),
        BeamSearch(HashEncoder(), width=3, length=2) >> Choose(SECOND_FIRST),
        Rerank(Composed(SNAPSHOT.names, SNAPSHOT.triples)),
        ShortestPaths() >> Rerank(Patterns(HashEncoder())),
        Choose(SECOND_FIRST, rounds=2),
        Choose(SECOND_FIRST),
        EntitySearch(SNAPSHOT.passages, SNAPSHOT.names, SNAPSHOT.triples),
        EntitySearch(SNAPSHOT.passages),
        LocalContext(SUMMARIES),
        LocalContext(Summaries(SNAPSHOT.passages), level=0, relations=3),
        CommunitySearch(SUMMARIES),
        CommunitySearch(SUMMARIES, level=0) >> RateCommunities(RatesTheLast(), WRITTEN, level=0, batch=2),
        RateCommunities(RatesTheLast(), WRITTEN),
        ToPassages(index=SNAPSHOT.passages),
        ToPassages(4, index=SNAPSHOT.passages),
        ReportContext(CommunityReports(WRITTEN)),
        ReportContext(TreeReports(TREE), passages=2),
        TreeSearch(TREE),
        TreeSearch(WrittenSummaryTree(SNAPSHOT.passages, size=3, model=RatesTheLast()), per_summary=2),
        PrizeTree(PRIZES),
        PrizeTree(Prizes(SNAPSHOT.passages), cost=1.0, nodes=20),
        ToPassages(items=PrizedItems(PRIZES), summed=True),
        If(HasEvidence(), Keep(), SEARCH),
        If(HasEvidence(), Choose(SECOND_FIRST), Frontier()),
        TripleSearch(SNAPSHOT.triples),
        TripleSearch(None, limit=3),
        NamesAndPhrases() >> TripleSearch(SNAPSHOT.triples, 7),
        SpecificSeeds(SNAPSHOT.names),
        SpecificSeeds(None),
        SharedWords(SNAPSHOT.words),
        PhraseSeeds(SNAPSHOT.passages),
        PropositionPaths(SNAPSHOT.triples),
        PropositionPaths(SNAPSHOT.triples, width=2, length=2, jumps=0),
        PropositionPaths(None, width=2),
        UnitPaths(SNAPSHOT.triples, OverlapCrossEncoder(), units=2, width=2),
        UnitPaths(None, OverlapCrossEncoder(), depth=2),
        AnchorSearch(SNAPSHOT.names, 2),
        PathSeeds(SNAPSHOT.passages),
        PropositionPaths(SNAPSHOT.triples) >> PathSeeds(SNAPSHOT.passages, entities=2, scored=False),
        Bridge(SNAPSHOT.triples, threshold=0.1),
        Bridge(None, rounds=3, threshold=0.01),
        BridgeSeeds(SNAPSHOT.passages),
        Bridge(SNAPSHOT.triples, threshold=0.1) >> BridgeSeeds(SNAPSHOT.passages),
        OnGraph(MentionGraph(), KHop(2)),
        Scaled(SEARCH),
        ScoreSum(Keep(), Scaled(Rerank(OverlapCrossEncoder())), weights=(0.6, 0.4)),
        ToPassages(summed=True),
        ToPassages(limit=4, summed=True),
        SharedBudget(ToPassages(summed=True), 4),
        SentenceThought(HashEncoder(), passages=2),
        Think(THINKS_OF_ERMENGARDE),
        FollowUp(SEARCH),
        SEARCH % 2 >> SentenceThought(HashEncoder()) >> FollowUp(WordSearch(SNAPSHOT.words)),
        Unaided(THINKS_OF_ERMENGARDE),
        Unaided(THINKS_OF_ERMENGARDE, reasoning=True),
        ParseQuery(MostProbable()),
        LikelyQueries(AsksForLothair()),
        LikelyQueries(AsksForLothair()) >> NotRecorded(),
        NotRecorded(),
        LLMQueryParser(ASKS_FOR_LOTHAIR),
        LLMQueryParser(ASKS_FOR_LOTHAIR) >> ExecuteQuery() >> QueryEvidence(),
        LLMQueryParser(ASKS_FOR_LOTHAIR) >> ExecuteQuery() >> QueryAnswer(Quote(WordReader())),
        QueryAnswer(Quote(WordReader())),
        NameVersions(Quote(WordReader())),
    ]


@cache
def state_in(graph: Graph, question: str = QUESTION) -> State:
    """A state with everything that an operator may need."""
    state = (LinkEntities() >> SEARCH % 3 >> ToPassages() >> PassageContext())(start(question, graph))
    return state.with_(trace=())


def full_state() -> State:
    return state_in(SNAPSHOT.graph)


def fingerprint(state: State) -> tuple[object, ...]:
    e, c = state.evidence, state.passages
    return (
        state.graph.checksum,
        state.anchors,
        None if e is None else (e.identities(), None if e.scores is None else e.scores.tolist()),
        None if c is None else (c.ids.tolist(), c.scores.tolist()),
        state.context,
        state.answer,
    )


def assert_steps_fit(graph: Graph, item: Item) -> None:
    """Check that the kind of an item says what its nodes and edges are, and that its steps walk along them."""
    ends = list(ends_of(graph, item.steps))
    if item.kind == ItemKind.NODE:
        assert len(item.nodes) == 1 and not item.edges
        assert all(a[1] == b[0] for a, b in pairwise(ends)) and {end for _, end in ends[-1:]} <= set(item.nodes)
        return
    assert {edge for edge, _ in item.steps} == set(item.edges)
    if item.kind == ItemKind.TRIPLE:
        assert not item.nodes and item.steps == ((item.edges[0], True),)
    elif item.kind == ItemKind.PATH:
        assert item.edges and tuple(edge for edge, _ in item.steps) == item.edges
        assert ends == list(pairwise(item.nodes))
    else:
        reached, parts = set[int](), 0
        for start_node, end in ends:
            parts += start_node not in reached
            reached |= {start_node, end}
        assert parts == nx.number_connected_components(nx.Graph(ends))


def test_every_operator_is_exported() -> None:
    public = {*graphwright.operators.__all__, *graphwright.generate.__all__}
    assert not [kind.__name__ for kind in exported_operators() if kind.__name__ not in public]


@pytest.mark.parametrize("op", every_operator(), ids=lambda op: repr(op)[:70])
class TestEveryOperator:
    def test_operator_is_deterministic_and_keeps_input(self, op: Operator) -> None:
        state = full_state()
        before = fingerprint(state)
        first, second = op(state), op(state)
        assert fingerprint(first) == fingerprint(second)
        assert fingerprint(state) == before

    def test_operator_scores_descend_with_ties_by_id(self, op: Operator) -> None:
        result = op(full_state()).evidence
        if result is not None and result.scores is not None:
            keys = [(-s, *key) for s, key in zip(result.scores.tolist(), result.identities(), strict=True)]
            assert keys == sorted(keys)

    def test_operator_cut_equals_first_of_all(self, op: Operator) -> None:
        state = full_state()
        whole = op(state)
        for k in (1, 2, 5, 1000):
            cut = (op % k)(state)
            gives = op.gives
            if "passages" in gives and "evidence" not in gives:
                assert cut.passages is not None and whole.passages is not None
                assert cut.passages.ids.tolist() == whole.passages.ids[:k].tolist()
            elif gives and "evidence" not in gives:
                assert fingerprint(cut) == fingerprint(whole)
            elif whole.evidence is not None and cut.evidence is not None:
                if not any("PersonalizedPageRank" in step.operator for step in cut.trace):
                    assert cut.evidence.identities() == whole.evidence.identities()[:k]
                elif len(whole.evidence):
                    # By push the k best are the k best but for near-ties.
                    exact = dict(zip(whole.evidence.identities(), whole.evidence.scores.tolist(), strict=True))  # type: ignore[union-attr]
                    least = sorted(exact.values(), reverse=True)[min(k, len(exact)) - 1]
                    assert len(cut.evidence) == min(k, len(exact))
                    assert all(exact[key] >= 0.9 * least for key in cut.evidence.identities())

    def test_operator_on_empty_evidence_gives_empty(self, op: Operator) -> None:
        if "evidence" not in "".join(op.needs) or "answer" in op.gives:
            pytest.skip("does not take evidence")
        after = op(start(QUESTION, SNAPSHOT.graph, evidence=Evidence.of_nodes([]), anchors=()))
        assert after.evidence is None or len(after.evidence) == 0
        assert after.passages is None or len(after.passages) == 0

    def test_steps_walk_along_item(self, op: Operator) -> None:
        if "evidence" not in op.gives:
            pytest.skip("gives no evidence")
        given = [full_state()]
        if not isinstance(op, OnGraph):  # a view may have other edges than the triples
            given.append((Triples() % 30)(given[0]))
        for result in map(op, given):
            for item in result.items.items():
                assert_steps_fit(result.graph, item)

    def test_operator_pickles(self, op: Operator) -> None:
        again = pickle.loads(pickle.dumps(op))
        assert again == op
        assert fingerprint(again(full_state())) == fingerprint(op(full_state()))

    def test_operator_in_part_of_graph_stays_in_it(self, op: Operator) -> None:
        if "STeX(" in repr(op):
            pytest.skip("adds neighbours in the whole graph")
        state = op(state_in(PART))
        if state.evidence is not None:
            assert PART.holds(state.evidence.nodes).all()
            assert isinstance(op, OnGraph) or set(state.evidence.edges.tolist()) <= set(PART.edges.tolist())
        assert state.passages is None or PART.holds(state.passages.ids).all()

    def test_operator_prompt_holds_question_as_one_line_of_data(self, op: Operator) -> None:
        if not isinstance(getattr(op, "model", None), FixedLLM):
            pytest.skip("asks no language model")
        prompts: list[str] = []
        llm = ScriptedLLM(lambda system, user: prompts.append(user) or "")
        replace(op, model=llm)(state_in(SNAPSHOT.graph, INJECTED))  # type: ignore[call-arg]
        for prompt in prompts:
            assert json.dumps(INJECTED) in prompt and INJECTED not in prompt

    def test_operator_without_its_needs_raises_needs_error(self, op: Operator) -> None:
        with pytest.raises(NeedsError) if op.needs else nullcontext():
            op(start(QUESTION, SNAPSHOT.graph))

    def test_operator_is_value(self, op: Operator) -> None:
        assert {op: 1}[op] == 1
        assert "0x" not in repr(op)


WALKS = [
    PersonalizedPageRank(),
    PersonalizedPageRank(0.5, each=True),
    KHop(1),
    KHop(3),
    Frontier(),
    Induce() >> Triples(),
]


@pytest.mark.parametrize("op", WALKS, ids=repr)
@pytest.mark.parametrize("name", sorted(TRIPLES))
def test_operator_result_follows_renumbering(op: Operator, name: str) -> None:
    graph = GRAPHS[name]
    shuffled = [TRIPLES[name][i] for i in np.random.default_rng(5).permutation(len(TRIPLES[name]))]
    other = Graph.from_triples(shuffled)
    names = [graph.names[0], graph.names[len(graph) - 1]]

    def scores(g: Graph) -> dict[str, float]:
        seeds = Evidence.of_nodes([g.id(n) for n in names], [0.7, 0.3])
        result = op(start("?", g, evidence=seeds)).evidence
        assert result is not None
        values = result.scores if result.scores is not None else np.ones(len(result))
        return {text: round(s, 6) for text, s in zip(result.texts(g), values.tolist(), strict=True)}

    assert scores(graph) == pytest.approx(scores(other), abs=1e-5)


@pytest.mark.parametrize("name", sorted(TRIPLES))
def test_vector_search_follows_renumbering(name: str) -> None:
    graph = GRAPHS[name]
    other = Graph.from_triples(TRIPLES[name][::-1])
    result = [(VectorSearch(vectors_of(g)))(start("b and Lothair II", g)) for g in (graph, other)]
    best = [dict(zip(s.graph.names.take(s.evidence.nodes), s.evidence.scores.tolist(), strict=True)) for s in result]  # type: ignore[union-attr]
    assert best[0] == pytest.approx(best[1], abs=1e-6)


@pytest.mark.parametrize("name", sorted(TRIPLES))
def test_fusion_follows_renumbering(name: str) -> None:
    graph = GRAPHS[name]
    other = Graph.from_triples(TRIPLES[name][::-1])
    names = [graph.names[0], graph.names[len(graph) - 1], graph.names[1]]

    def scores(g: Graph, op: Operator) -> dict[str, float]:
        result = op(start("b and Lothair II", g, evidence=Evidence.of_nodes([g.id(n) for n in names]))).evidence
        assert result is not None and result.scores is not None
        return dict(zip(g.names.take(result.nodes), result.scores.tolist(), strict=True))

    for op in (GRanker(OverlapCrossEncoder()), Rerank(HashEncoder()), MultiHopRerank(OverlapCrossEncoder())):
        assert scores(graph, op) == pytest.approx(scores(other, op), abs=1e-6)
    assert scores(graph, STeX(vectors_of(graph))) == pytest.approx(scores(other, STeX(vectors_of(other))), abs=1e-6)


def test_search_results_do_not_depend_on_cut() -> None:
    state = start(QUESTION, SNAPSHOT.graph)
    assert same((SEARCH % 4)(state).evidence, SEARCH(state).evidence.top(4))  # type: ignore[union-attr]
