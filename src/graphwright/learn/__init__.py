"""Trained retrievers: labels, training, inference (ReG). `__init__.pyi` lists the names; each loads on use."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
