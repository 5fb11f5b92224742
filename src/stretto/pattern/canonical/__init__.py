"""One form for pieces and terms that mean the same."""
