"""Evidence for a question: the words of texts, the ranking of chunks, bundles that fit a budget, measured budgets."""
