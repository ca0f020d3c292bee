"""The state of a program on disk: epochs of its relations as Parquet. Killed at any moment, the last one is intact.

store = Store.create("state")
with store.commit(text, "reach.dl", strategy="bootstrap") as writer:
    writer.write("edge", table)
    writer.adopt("path", folder_that_spark_wrote)
Store.open("state").read("path")
"""

from whence.store.commit import Writer
from whence.store.errors import StoreError
from whence.store.manifest import Epoch, File, Schema, StoredColumn, StoredRelation
from whence.store.store import Layer, Store

__all__ = ["Epoch", "File", "Layer", "Schema", "Store", "StoreError", "StoredColumn", "StoredRelation", "Writer"]
