"""Events from and to files, and generators of the papers' event streams."""
