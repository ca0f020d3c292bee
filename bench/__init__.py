"""Whence beside DuckDB: the same inputs, the same results, time and memory of each. Run it with `make bench`."""
