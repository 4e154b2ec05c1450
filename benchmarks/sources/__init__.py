"""Texts that benchmarks read: packages, pages, documents, questions over links."""
