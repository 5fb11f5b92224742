"""What a run found, on its way to files and to the screen."""
