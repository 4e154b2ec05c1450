"""Embedded models, run by onnxruntime: no download, no key, no torch."""
