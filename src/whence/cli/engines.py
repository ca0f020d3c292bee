"""The arguments that say what evaluates, this process or Spark, and how."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from whence.cli.arguments import positive
from whence.errors import WhenceError

if TYPE_CHECKING:
    from whence.engines.spark.options import Options


def add_engine(parser: argparse.ArgumentParser, others: tuple[str, ...] = ()) -> Any:
    """Adds them, with other engines if there are; returns the group of those that are for Spark."""
    told = "what evaluates: Spark (default), or this process"
    parser.add_argument("--engine", choices=["spark", "local", *others], default="spark", help=told)
    spark = parser.add_argument_group("on Spark")
    spark.add_argument("--master", metavar="URL", help="the cluster (default: Spark's configuration, else local[*])")
    spark.add_argument(
        "--placement",
        choices=["driver", "decomposed", "exchanged"],
        help="how strata are evaluated, where they can be (default: chosen for each by its input)",
    )
    spark.add_argument("--driver-rows", type=positive, metavar="N", help="the most tuples that a stratum here reads")
    spark.add_argument("--broadcast-rows", type=positive, metavar="N", help="the most that are sent to every task")
    spark.add_argument(
        "--partitions", type=positive, metavar="N", help="parts of a relation on Spark (default: by size)"
    )
    spark.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark; repeatable"
    )
    spark.add_argument("--spark-ui", action="store_true", help="serve Spark's own page while it runs")
    return spark


def engine_options(options: argparse.Namespace, **others: Any) -> dict[str, Any]:
    """What `whence.open` and `whence.open_state` take; `others` are further options of Spark."""
    if options.engine != "spark":
        return {"engine": options.engine}
    return {"engine": "spark", "options": spark_options(options, **others)}


def spark_options(options: argparse.Namespace, **others: Any) -> Options:
    from whence.engines.spark.cluster import Setting
    from whence.engines.spark.options import Options

    setting = Setting(options.master, options.spark_ui, dict(_setting(text) for text in options.conf))
    chosen = {"driver_rows": options.driver_rows, "broadcast_rows": options.broadcast_rows}
    given = {name: value for name, value in chosen.items() if value is not None}
    return Options(setting, options.placement, partitions=options.partitions, **given, **others)


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise WhenceError(f"--conf {text}: a setting is written KEY=VALUE, such as spark.driver.memory=8g")
    return key, value
