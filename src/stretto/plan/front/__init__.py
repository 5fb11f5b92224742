"""The front of a plan: what makes derived streams of raw events, before the queries read them."""
