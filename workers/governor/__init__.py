"""The governor: what holds model calls inside concurrency, request and token limits."""
