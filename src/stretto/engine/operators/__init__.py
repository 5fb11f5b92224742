"""One operator per file: each takes its inputs' new rows of a step and yields its own new rows."""
