"""Questions that compare things: what is asked, what passages tell of each, and which it comes to."""
