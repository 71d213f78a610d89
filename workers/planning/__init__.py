"""Planning: jobs, their selections, and the tasks of each step."""
