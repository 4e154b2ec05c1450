"""The testbed: metrics, statistics, runs."""
