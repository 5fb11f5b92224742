"""`stretto calibrate`: what the engine's work costs on this machine."""
