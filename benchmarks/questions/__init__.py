"""Questions of `everyday.py` and `formats.py`: asking, scoring, reporting."""
