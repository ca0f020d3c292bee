"""Explanations on a session of Spark: those of the local engine, from the rows that they need."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import whence
from explain.test_figures import sessions
from test_papers import POINTS_TO, SESSIONS
from whence.explain import Explainer, explain, in_store, window
from whence.store import Store

QUERY = 'alias("userSession", "ins")'


@pytest.mark.parametrize("placement", ["exchanged", "decomposed"])
def test_the_same_answers(spark: SparkSession, placement: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(window, "ALL_AT_ONCE", -1)
    local = sessions()
    options = whence.Options(placement=placement)
    with whence.open(text=POINTS_TO + SESSIONS, engine="spark", spark=spark, options=options) as session:
        session.load(**{name: list(local[name]) for name in ("new", "store", "load", "assign")})
        session.run()
        explanation = session.explain(QUERY)
        assert explanation.json() == local.explain(QUERY).json()
        tables = explanation._explainer.state.tables
        assert len(tables.stored["alias"].table) == 1
        assert len(tables.stored["vpt"].table) < len(local["vpt"])
        absent = 'vpt("userSession", "L4")'
        found, wanted = session.why_not(absent).why.attempts, local.why_not(absent).why.attempts
        assert [(one.rule, one.failing) for one in found] == [(one.rule, one.failing) for one in wanted]
        session.save(tmp_path / "state")
    stored = explain(Explainer(in_store(Store.open(tmp_path / "state"))), QUERY)  # what Spark has written
    assert stored.json() == local.explain(QUERY).json()
