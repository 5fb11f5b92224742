"""What comes out: matches with their ids and returned values."""
