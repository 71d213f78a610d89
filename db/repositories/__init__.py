"""One repository an aggregate: queries live here and nowhere else."""
