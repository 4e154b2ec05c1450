"""Indexes that other systems made: the output of Microsoft GraphRAG, the working folder of LightRAG."""
