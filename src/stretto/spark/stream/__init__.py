"""Streams: a stateful operator per target, its state in the checkpoint, versions of the workload beside it."""
