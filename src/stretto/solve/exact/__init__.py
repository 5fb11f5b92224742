"""The best plan over a memo and a proven bound: reduction, Lagrangian relaxation, local search, a 0-1 program."""
