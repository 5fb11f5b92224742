"""All pieces of a workload and the ways to compute them, priced."""
