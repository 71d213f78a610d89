"""Search over a million chunks on both databases."""
