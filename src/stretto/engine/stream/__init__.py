"""Events on their way in: checked, put in order of time, kept for as long as a window reaches, and given to scans."""
