"""The meaning of queries by brute force: the judge of every plan and every engine. It shares no code with them."""

from stretto.oracle.detections import Match, matches
from stretto.oracle.families import family_matches
from stretto.oracle.streams import derive, inputs
from stretto.oracle.trends import Total, totals

__all__ = ["Match", "Total", "derive", "family_matches", "inputs", "matches", "totals"]
