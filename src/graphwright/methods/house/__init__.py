"""Methods of this package, and the baselines."""
