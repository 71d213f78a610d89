"""What the pages and the HTTP API cost at scale."""
