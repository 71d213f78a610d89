"""The splitter: chunks that are exact spans, never over the limit, cut where the text says so."""
