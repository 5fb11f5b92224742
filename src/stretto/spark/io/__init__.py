"""Where a stream reads and writes: sources, sinks, databases, and the columns of events."""
