"""The analysis as a job of Spark's: DataFrames in, `supply.dl`, ordinary DataFrame operations on what comes out.

spark-submit --master 'local[2]' pipeline.py INPUT OUTPUT
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import whence

source, target = sys.argv[1:]
spark = SparkSession.builder.appName("supply").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
teams = spark.read.parquet(f"{source}/application.parquet")

with whence.open(Path(__file__).with_name("supply.dl"), engine="spark", spark=spark) as s:
    s.load(application=teams.select("application"))
    for name in ("depends", "advisory", "not_affected"):
        s.load(**{name: spark.read.parquet(f"{source}/{name}.parquet")})
    s.run()

    # The best upgrade, and for each team how many of its affected applications that frees.
    best = s["upgrade"].to_spark().orderBy(F.desc("frees"), "package").first()
    affected = s["affected"].to_spark().groupBy("application").agg(F.count("*").alias("advisories"))
    freed = s["frees"].to_spark().where(F.col("upgrade") == best["package"])
    work = (
        teams.join(affected, "application")
        .join(freed, "application", "left")
        .groupBy("team")
        .agg(F.count("*").alias("affected"), F.count("upgrade").alias("freed"), F.max("advisories").alias("worst"))
        .orderBy(F.desc("freed"), "team")
    )
    work.write.mode("overwrite").parquet(f"{target}/teams.parquet")
    print(f"Upgrading {best['package']} frees {best['frees']:,} applications:")
    spark.read.parquet(f"{target}/teams.parquet").orderBy(F.desc("freed"), "team").show()
