"""What is known of the events before they run: their schema, span and rates."""
