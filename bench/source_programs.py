"""Programs to analyse: the allocations, assignments, loads and stores of generated source code.

The code looks like real code in what decides how far objects travel: it is made of modules of methods; a method has
a dozen variables, of which a few are allocated, most assigned from another, some loaded from or stored in a field; a
method calls mostly methods of its own module, at times a public one of a module it imports, and imports have no
cycles. So points-to sets are small on average with a long tail, and the result grows about as the program does: evenly
with the seed used here, while for other seeds the number of aliases is up to half as many again at one size or another.
"""

from __future__ import annotations

import numpy as np

from bench.graphs import Facts, Table, pairs

METHODS = 20  # a module
VARIABLES = 12  # a method; 0 is `this`, 1 and 2 parameters, 3 what it returns, the others locals
FIELDS = 8  # a class, and a module is a class
NULL = 0


def source_program(methods: int) -> Facts:
    random = np.random.default_rng(9)
    modules = max(1, methods // METHODS)
    methods = modules * METHODS

    def method(count: int) -> Table:
        return random.integers(0, methods, count)

    def variable(of: Table, low: int = 0, high: int = VARIABLES) -> Table:
        return of * VARIABLES + random.integers(low, high, len(of))

    def field(of: Table) -> Table:
        # A method mostly touches fields of its own class.
        module = of // METHODS
        elsewhere = random.random(len(of)) < 0.05
        module[elsewhere] = module[elsewhere] * random.random(int(elsewhere.sum()))
        return module * FIELDS + random.integers(0, FIELDS, len(of))

    # Two allocations a method, and a null for one in five.
    at = method(2 * methods)
    allocated = pairs(variable(at, 4), 1 + np.arange(len(at)))
    at = method(methods // 5)
    null = pairs(variable(at, 4), np.full(len(at), NULL))

    # Local assignments go forward in the method, so that most variables get a value and few go round in circles.
    at = method(9 * methods)
    low, high = np.sort(random.integers(4, VARIABLES, (2, len(at))), axis=0)
    source, target = at * VARIABLES + low, at * VARIABLES + high
    source, target = source[low < high], target[low < high]
    at = np.arange(methods)
    returned = pairs(at * VARIABLES + 3, variable(at, 4))
    used = pairs(variable(at, 4), at * VARIABLES + random.integers(0, 3, methods))

    # Calls: arguments into parameters, the result back into a local.
    caller = method(2 * methods)
    inside = random.random(len(caller)) < 0.8
    module = caller // METHODS
    imported = (module - 1 - random.integers(0, 4, len(caller))).clip(0)
    callee = np.where(inside, module, imported) * METHODS + random.integers(0, METHODS, len(caller))
    callee = np.where(inside, callee, callee // METHODS * METHODS + callee % 3)
    passed = pairs(callee * VARIABLES + random.integers(0, 3, len(caller)), variable(caller, 4))
    back = pairs(variable(caller, 4), callee * VARIABLES + 3)

    at = method(methods)
    stored = np.column_stack([variable(at), field(at), variable(at, 1)])
    at = method(2 * methods)
    loaded = np.column_stack([variable(at, 4), variable(at), field(at)])
    return {
        "new": np.unique(np.concatenate([allocated, null]), axis=0),
        "assign": np.unique(np.concatenate([pairs(target, source), returned, used, passed, back]), axis=0),
        "store": np.unique(stored.astype(np.int64), axis=0),
        "load": np.unique(loaded.astype(np.int64), axis=0),
    }
