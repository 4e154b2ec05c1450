"""Compiled kernels: arrays in, arrays out (see `kernels.compiled`). Import the modules themselves."""
