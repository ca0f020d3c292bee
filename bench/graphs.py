"""Graphs and trees to compute on, each made from its size and a seed, the same on every machine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.int64]
Facts = dict[str, Table]


def pairs(left: Table, right: Table) -> Table:
    return np.column_stack([left, right]).astype(np.int64)


def random_edges(nodes: int, edges: int, seed: int) -> Table:
    """`edges` different pairs of different nodes, each as likely as any other."""
    random = np.random.default_rng(seed)
    codes = np.empty(0, np.int64)
    while len(codes) < edges:
        codes = np.concatenate([codes, random.integers(0, nodes * nodes, 2 * edges)])
        codes = codes[codes // nodes != codes % nodes]
        _, first = np.unique(codes, return_index=True)
        codes = codes[np.sort(first)]
    return pairs(codes[:edges] // nodes, codes[:edges] % nodes)


def dense(nodes: int) -> Facts:
    """Ten edges a node: everything reaches everything, in few iterations."""
    return {"edge": random_edges(nodes, nodes * 10_035 // 1_000, seed=2)}


def sparse(nodes: int) -> Facts:
    """Little more than one edge a node, as a giant component is about to form: many iterations of middling deltas."""
    return {"edge": random_edges(nodes, nodes * 11 // 10, seed=10)}


def chain(nodes: int) -> Facts:
    """One path: as many iterations as nodes."""
    numbers = np.arange(nodes, dtype=np.int64)
    return {"edge": pairs(numbers[:-1], numbers[1:])}


def crowd(nodes: int) -> Facts:
    """Ten edges a node, and a path of forty nodes out of it: most of a large result at once, then little at a time."""
    path = np.arange(nodes - 1, nodes + 40, dtype=np.int64)
    return {"edge": np.concatenate([dense(nodes)["edge"], pairs(path[:-1], path[1:])])}


def family(nodes: int) -> Facts:
    """Families of a fixed size, as a forest in which every fourth node has a second parent.

    A node's parents come shortly before it, so generations overlap and a family of 400 has about as many pairs of one
    generation as a population register would: the result grows with the number of families.
    """
    size = 400
    random = np.random.default_rng(3)
    numbers = np.arange(nodes, dtype=np.int64)
    place = numbers % size
    # The parents of the i-th member are among the members i/3-3 .. i/3: three children each, on average.
    first = place // 3 - random.integers(0, 4, nodes)
    second = place // 3 - random.integers(0, 4, nodes)
    start = numbers - place
    one = pairs(numbers, start + first)[(first >= 0) & (first < place)]
    more = (random.integers(0, 4, nodes) == 0) & (second >= 0) & (second < place)
    return {"parent": np.unique(np.concatenate([one, pairs(numbers, start + second)[more]]), axis=0)}
