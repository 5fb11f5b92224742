"""Plans that are run on sampled events before one is chosen, and the work that is counted then."""
