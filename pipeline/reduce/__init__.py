"""Reduce: merge (by canonical key, in shards) and fold (a tree over ordered outputs)."""
