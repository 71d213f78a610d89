"""What the faces ask for: each answer is a plain value of bounded size, whatever the size of the job or library."""
