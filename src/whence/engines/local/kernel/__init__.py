"""The compiled kernel: a handful of generic loops over int64 rows, shared by every program.

`library` loads them; the other modules are their source and import Numba, which only compiling needs.
"""
