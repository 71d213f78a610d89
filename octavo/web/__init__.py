"""The HTTP API and the pages on it. HTTP statuses are known here and nowhere else."""
