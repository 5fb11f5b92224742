"""One model of an explanation, and its views."""
