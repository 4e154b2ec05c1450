"""Numba kernels: arrays in, arrays out. Import the modules themselves: loading numba takes long."""
