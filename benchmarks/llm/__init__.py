"""Language models: slots kept busy by slow calls, and batches in process beside single calls."""
