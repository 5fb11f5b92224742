"""MOTTO (Zhang et al., ICDE 2017): merging, decomposition and operator transformation as a directed Steiner tree."""
