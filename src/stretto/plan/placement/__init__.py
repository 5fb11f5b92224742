"""Where the operators of a plan run: units, what reaches them, and what each of them has to do."""
