"""Language models: prompts, token budgets and answers, whatever engine makes the text."""
