"""How events are divided among targets, each of which runs the whole plan on its part of them."""
