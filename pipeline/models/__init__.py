"""Models: what answers an op. `extractive` is built in; others come by profile."""
