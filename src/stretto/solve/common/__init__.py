"""What all solvers use: the budget, the problem in numbers, solutions."""
