"""What a workload defines beside its queries: derived streams, tables, and the families of queries over their rows."""
