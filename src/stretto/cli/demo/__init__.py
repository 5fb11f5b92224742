"""`stretto demo`: the main job on generated data."""
