"""The engine side by side with a bare thread pool, diskcache and DBOS, on the same pieces of one novel."""
