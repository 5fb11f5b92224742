"""What programs call: `run`, `optimize` and `explain` take what is at hand, and say what they cannot take."""
