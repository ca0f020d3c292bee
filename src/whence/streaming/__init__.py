"""Changes from Spark Structured Streaming: every micro-batch becomes an epoch of a state, once, and its impact is
written as a change feed.

    query = whence.stream("state", spark.readStream.table("edge_events"), relation="edge", feed="feed")
"""

from whence.streaming.feed import Feed
from whence.streaming.follower import Follower
from whence.streaming.frames import Events, Files
from whence.streaming.starting import change_files, stream

__all__ = ["Events", "Feed", "Files", "Follower", "change_files", "stream"]
