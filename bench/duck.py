"""The benchmark programs in SQL, as somebody who knows DuckDB would write them.

A recursive CTE where one can say it. It sees only the tuples of the last iteration, so rules that join a relation
with itself recursively (points-to, RDFS) are a loop of SQL statements instead, semi-naive as well.
"""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import numpy as np

from bench.graphs import Facts, Table

Connection = duckdb.DuckDBPyConnection

COLUMNS = {
    "edge": "x y",
    "parent": "child parent",
    "new": "variable object",
    "assign": "variable source",
    "store": "base field source",
    "load": "variable base field",
    "given": "subject predicate object",
    "insert": "c n p q",
    "remove": "c n",
}


def connect(facts: Facts, threads: int) -> Connection:
    """A database in memory with a table for every input relation."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    for name, table in facts.items():
        arriving = {column: table[:, i].copy() for i, column in enumerate(COLUMNS[name].split())}  # noqa: F841
        connection.execute(f'CREATE TABLE "{name}" AS FROM arriving')
    return connection


def size(connection: Connection, relation: str) -> int:
    counted = connection.execute(f'SELECT count(*) FROM "{relation}"').fetchone()
    assert counted
    return int(counted[0])


def read(connection: Connection, relation: str) -> Table:
    return np.column_stack(list(connection.execute(f'FROM "{relation}"').fetchnumpy().values()))


def closure(connection: Connection) -> None:
    connection.execute("""
        CREATE TABLE path AS
        WITH RECURSIVE path(x, y) AS (
            SELECT x, y FROM edge
            UNION SELECT path.x, edge.y FROM path JOIN edge ON path.y = edge.x)
        FROM path""")


def generation(connection: Connection) -> None:
    connection.execute("""
        CREATE TABLE same AS
        WITH RECURSIVE same(x, y) AS (
            SELECT a.child, b.child FROM parent a JOIN parent b ON a.parent = b.parent AND a.child <> b.child
            UNION SELECT a.child, b.child
            FROM same JOIN parent a ON a.parent = same.x JOIN parent b ON b.parent = same.y)
        FROM same""")


def reach(connection: Connection) -> None:
    connection.execute("""
        CREATE TABLE reach AS
        WITH RECURSIVE reach(x) AS (
            SELECT 0::BIGINT
            UNION SELECT edge.y FROM reach JOIN edge ON reach.x = edge.x)
        FROM reach""")


def semi_naive(connection: Connection, relation: str, start: str, steps: list[str]) -> None:
    """Fills `relation` from the query `start`, then by `steps` until none adds a tuple.

    A step reads the relation under its own name and the tuples of the last iteration under the name `latest`.
    """
    connection.execute(f"CREATE TABLE {relation} AS SELECT DISTINCT * FROM ({start})")
    connection.execute(f"CREATE TEMP TABLE latest AS FROM {relation}")
    names = ", ".join(column[0] for column in connection.execute(f"FROM {relation} LIMIT 0").description)
    derived = " UNION ALL ".join(f"({step})" for step in steps)
    while True:
        connection.execute(f"CREATE TEMP TABLE found({names}) AS ({derived}) EXCEPT FROM {relation}")
        connection.execute("DROP TABLE latest")
        connection.execute("ALTER TABLE found RENAME TO latest")
        inserted = connection.execute(f"INSERT INTO {relation} FROM latest").fetchone()
        if inserted is None or not inserted[0]:
            connection.execute("DROP TABLE latest")
            return


def points_to(connection: Connection) -> None:
    def through_fields(base: str, other: str, source: str) -> str:
        return f"""
            SELECT load.variable, value.object
            FROM load JOIN {base} AS base ON base.variable = load.base
                JOIN {other} AS other ON other.object = base.object
                JOIN store ON store.base = other.variable AND store.field = load.field
                JOIN {source} AS value ON value.variable = store.source"""

    semi_naive(
        connection,
        "vpt",
        "FROM new",
        [
            "SELECT assign.variable, object FROM assign JOIN latest ON latest.variable = assign.source",
            through_fields("latest", "vpt", "vpt"),
            through_fields("vpt", "latest", "vpt"),
            through_fields("vpt", "vpt", "latest"),
        ],
    )
    connection.execute("""
        CREATE TABLE alias AS
        SELECT DISTINCT a.variable AS one, b.variable AS other
        FROM vpt a JOIN vpt b ON a.object = b.object AND a.variable <> b.variable
        WHERE a.object <> 0""")
    connection.execute("""
        CREATE TABLE safevar AS
        SELECT DISTINCT variable FROM vpt
        WHERE variable NOT IN (SELECT variable FROM vpt WHERE object = 0)""")


def rdfs(connection: Connection) -> None:
    def rule(head: str, condition: str) -> list[str]:
        """A rule of two triples, once for each that may be of the last iteration."""
        return [
            f"SELECT {head} FROM {a} a, {b} b WHERE {condition}"
            for a, b in [("latest", "triple"), ("triple", "latest")]
        ]

    semi_naive(
        connection,
        "triple",
        "FROM given",
        [
            *rule("a.subject, 0, b.object", "a.predicate = 0 AND b.predicate = 0 AND a.object = b.subject"),
            *rule("a.subject, 1, b.object", "a.predicate = 1 AND b.predicate = 1 AND a.object = b.subject"),
            *rule("a.subject, b.object, a.object", "b.predicate = 1 AND a.predicate = b.subject"),
            *rule("a.subject, 4, b.object", "b.predicate = 2 AND a.predicate = b.subject"),
            *rule("a.object, 4, b.object", "b.predicate = 3 AND a.predicate = b.subject"),
            *rule("a.subject, 4, b.object", "a.predicate = 4 AND b.predicate = 0 AND a.object = b.subject"),
        ],
    )


def crdt_negation(connection: Connection) -> None:
    connection.execute("""
        CREATE TABLE before AS
        SELECT DISTINCT a.c, a.n, b.c AS d, b.n AS m
        FROM "insert" a JOIN "insert" b ON a.p = b.p AND a.q = b.q AND (a.c > b.c OR a.c = b.c AND a.n > b.n)""")
    connection.execute("""
        CREATE TABLE first_child AS
        SELECT DISTINCT p AS c, q AS n, c AS d, n AS m FROM "insert" i
        WHERE NOT EXISTS (FROM before WHERE before.d = i.c AND before.m = i.n)""")
    connection.execute("""
        CREATE TABLE next_sibling AS
        FROM before b WHERE NOT EXISTS (
            FROM before x JOIN before y ON x.d = y.c AND x.m = y.n
            WHERE x.c = b.c AND x.n = b.n AND y.d = b.d AND y.m = b.m)""")
    order_of_text(connection)


def crdt_aggregates(connection: Connection) -> None:
    connection.execute("""
        CREATE TABLE first_child AS
        SELECT p AS c, q AS n, id.c AS d, id.n AS m
        FROM (SELECT p, q, max({'c': c, 'n': n}) AS id FROM "insert" GROUP BY p, q)""")
    connection.execute("""
        CREATE TABLE next_sibling AS
        SELECT * FROM (
            SELECT c, n, lead(c) OVER siblings AS d, lead(n) OVER siblings AS m FROM "insert"
            WINDOW siblings AS (PARTITION BY p, q ORDER BY c DESC, n DESC))
        WHERE d IS NOT NULL""")
    order_of_text(connection)


def order_of_text(connection: Connection) -> None:
    """From the first child and the next sibling on: the part that both forms of the program share."""
    connection.execute("""
        CREATE TABLE without_next AS
        SELECT c, n, p, q FROM "insert" i ANTI JOIN next_sibling s ON s.c = i.c AND s.n = i.n""")
    connection.execute("""
        CREATE TABLE after AS
        WITH RECURSIVE after(c, n, d, m) AS (
            FROM next_sibling
            UNION SELECT i.c, i.n, after.d, after.m FROM after JOIN without_next i ON i.p = after.c AND i.q = after.n)
        FROM after""")
    connection.execute("""
        CREATE TABLE next_element AS
        FROM first_child
        UNION FROM after ANTI JOIN first_child f ON f.c = after.c AND f.n = after.n""")
    connection.execute("""
        CREATE TABLE value AS
        SELECT DISTINCT i.c, i.n, 'hi' AS text FROM "insert" i ANTI JOIN remove r ON r.c = i.c AND r.n = i.n""")
    connection.execute("""
        CREATE TABLE blank_next AS
        FROM next_element e ANTI JOIN value v ON v.c = e.d AND v.n = e.m""")
    connection.execute("""
        CREATE TABLE next_visible AS
        WITH RECURSIVE visible_after(c, n, d, m) AS (
            SELECT e.c, e.n, e.d, e.m FROM next_element e SEMI JOIN value v ON v.c = e.d AND v.n = e.m
            UNION SELECT e.c, e.n, a.d, a.m FROM visible_after a JOIN blank_next e ON e.d = a.c AND e.m = a.n)
        FROM visible_after a SEMI JOIN value v ON v.c = a.c AND v.n = a.n""")


PROGRAMS: dict[str, Callable[[Connection], None]] = {
    "closure": closure,
    "reach": reach,
    "generation": generation,
    "pointsto": points_to,
    "rdfs": rdfs,
    "crdt_negation": crdt_negation,
    "crdt_aggregates": crdt_aggregates,
}
