"""Bubble expansion in plain Python, from the sentences of the design: slow, obvious, and independent of the kernel."""

import heapq
from itertools import combinations


def part_within(neighbours, terminals, hops):
    """The nodes within `hops` of a terminal, laid out beforehand."""
    inside, level = set(terminals), set(terminals)
    for _ in range(hops):
        level = {u for v in level for u in neighbours[v]} - inside
        inside |= level
    return inside


def plain_bubble(neighbours, groups, costs, hops, budget):
    """Candidates as (nodes, links, origins): links are pairs of neighbours, origins (group, terminal).

    `neighbours`: a set for each node; `groups`: for each group a dict of its terminals, each with the other end of
    the edge that it stands for, or None; `costs`: a number for each node.
    """
    search = Search(neighbours, groups, costs, hops)
    while search.queue and len(search.found) < budget and search.met < 100 * budget:
        search.step()
    return search.found[:budget]


class Search:
    """The state for each (group, node): distance, predecessor and source terminal."""

    def __init__(self, neighbours, groups, costs, hops):
        terminals = {v for group in groups for v in group}
        inside = part_within(neighbours, terminals, hops)
        self.neighbours = [near & inside for near in neighbours]
        self.costs = [0 if v in terminals else cost for v, cost in enumerate(costs)]
        self.groups = groups
        self.distance = {(g, t): 0 for g, group in enumerate(groups) for t in group}
        self.before = dict.fromkeys(self.distance)
        self.source = {(g, t): t for g, t in self.distance}
        self.queue = [(0, t, g) for g, t in self.distance]
        heapq.heapify(self.queue)
        self.settled, self.found, self.met = set(), [], 0

    def step(self):
        d, v, g = heapq.heappop(self.queue)
        if (g, v) in self.settled:
            return
        self.settled.add((g, v))
        here = [(h, v) for h in range(len(self.groups)) if (h, v) in self.settled]
        if len(here) > 1:
            self.candidate(here, set())
        for u in sorted(self.neighbours[v]):
            if (g, u) in self.settled and self.source[g, u] != self.source[g, v]:
                self.candidate([(g, u), (g, v)], {frozenset((u, v))})
        for u in self.neighbours[v]:
            there = d + self.costs[u]
            if (g, u) not in self.settled and there < self.distance.get((g, u), float("inf")):
                self.distance[g, u], self.before[g, u], self.source[g, u] = there, v, self.source[g, v]
                heapq.heappush(self.queue, (there, u, g))

    def candidate(self, labels, links):
        self.met += 1
        nodes = set()
        for g, v in labels:
            nodes |= {v, self.groups[g][self.source[g, v]]} - {None}
            while self.before[g, v] is not None:
                links.add(frozenset((v, self.before[g, v])))
                v = self.before[g, v]
                nodes.add(v)
        same = [known for known, _, _ in self.found if self.covered(known) == self.covered(nodes)]
        if not any(nodes <= known or nodes >= known for known in same):
            self.found.append((nodes, links, {(g, self.source[g, v]) for g, v in labels}))

    def covered(self, nodes):
        """The groups with a terminal among the nodes, or with both ends of an edge."""
        return {g for g, group in enumerate(self.groups) for t, end in group.items() if {t, end} - {None} <= nodes}


def best_tree(neighbours, groups, costs):
    """The least cost of a connected set of nodes with one of each group, over all sets; None where there is none."""
    terminals = {v for group in groups for v in group}
    paid = [0 if v in terminals else costs[v] for v in range(len(neighbours))]
    best = None
    for size in range(1, len(neighbours) + 1):
        for chosen in combinations(range(len(neighbours)), size):
            nodes = set(chosen)
            if all(nodes & set(group) for group in groups) and is_connected(neighbours, nodes):
                total = sum(paid[v] for v in nodes)
                best = total if best is None else min(best, total)
    return best


def is_connected(neighbours, nodes):
    reached, waiting = set(), [next(iter(nodes))]
    while waiting:
        v = waiting.pop()
        if v not in reached:
            reached.add(v)
            waiting += neighbours[v] & nodes
    return reached == nodes
