"""Other systems as peers.py drives them: a script for each, run by a Python of its own, and the models they all ask."""
