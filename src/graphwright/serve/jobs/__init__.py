"""Changes of indexes: uploads, the queue, and the runs of jobs."""
