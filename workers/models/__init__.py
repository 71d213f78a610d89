"""What makes the text of language models: servers over HTTP, mlx-lm in this process."""
