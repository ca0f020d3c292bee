"""The Spark engine: relations as DataFrames, strata placed where they run best."""
