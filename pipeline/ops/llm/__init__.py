"""How language models are asked the built-in ops: prompts, schemas, and the same outputs as the extractive ones."""
