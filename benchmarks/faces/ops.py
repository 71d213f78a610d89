"""The benchmark's op as a module that a server can be given by `--ops`."""

from benchmarks.faces.library import tell

__all__ = ["tell"]
