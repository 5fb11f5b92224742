"""RUMOR: operators that are merged by rules, and channels between them."""
