"""Ops: named, versioned operations on chunks (map) and on outputs (reduce)."""
