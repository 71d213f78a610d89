"""The HTTP API, version 1: what is there only grows."""
