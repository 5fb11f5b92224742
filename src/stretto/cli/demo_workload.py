"""The queries of `stretto demo`, over the events of a data centre."""

WORKLOAD = """\
CREATE EVENT Hot AS SELECT * FROM cpu WHERE load > 0.7;
CREATE EVENT Busy AS SELECT * FROM net WHERE load > 0.7;
CREATE EVENT Big AS SELECT * FROM start WHERE size > 5000;

-- A packet on its whole way.
QUERY delivered
PATTERN SEQ(start s, delivery d, end e, ack a)
WHERE   [packet]
WITHIN  10 SECONDS
RETURN  s.packet AS packet, a.ts - s.ts AS took;

-- The sender closes the transmission, but no acknowledgment ever comes.
QUERY unacknowledged
PATTERN SEQ(start s, delivery d, end e, NOT(ack a))
WHERE   [packet]
WITHIN  10 SECONDS
RETURN  s.packet AS packet, s.machine AS sender;

QUERY slow_round_trip
PATTERN SEQ(start s, end e, ack a)
WHERE   [packet] AND a.ts - s.ts > 3 SECONDS
WITHIN  10 SECONDS
RETURN  s.packet AS packet, a.ts - s.ts AS took;

QUERY lost
PATTERN SEQ(start s, NOT(delivery d), error x)
WHERE   [packet]
WITHIN  10 SECONDS
RETURN  s.packet AS packet, s.size AS size;

QUERY slow_delivery
PATTERN SEQ(start s, delivery d)
WHERE   [packet] AND d.ts - s.ts > 1 SECOND
WITHIN  10 SECONDS
RETURN  s.packet AS packet;

-- The load of a machine climbs and climbs.
QUERY climbing
PATTERN cpu c{3,5}
WHERE   [machine] AND c[i].load > c[i-1].load
WITHIN  30 SECONDS
RETURN  FIRST(c).machine AS machine, LAST(c).load - FIRST(c).load AS rise;

QUERY hot_then_error
PATTERN SEQ(Hot h, error x)
WHERE   [machine]
WITHIN  10 SECONDS
RETURN  h.machine AS machine, h.load AS load;

QUERY hot_and_busy
PATTERN AND(Hot h, Busy b)
WHERE   [machine]
WITHIN  10 SECONDS
RETURN  h.machine AS machine;

QUERY strained_then_error
PATTERN SEQ(OR(Hot t, Busy t), error x)
WHERE   [machine]
WITHIN  5 SECONDS
RETURN  t.load AS load;

-- Three big packets of one machine, each the next after the one before.
QUERY burst
PATTERN SEQ(Big a, Big b, Big c)
WHERE   [machine]
WITHIN  20 SECONDS
SELECT  NEXT
RETURN  a.size + b.size + c.size AS bytes;

-- Two lost packets of one machine with no other event of that machine between.
QUERY errors_in_a_row
PATTERN SEQ(error a, error b)
WHERE   [machine]
WITHIN  60 SECONDS
SELECT  STRICT
RETURN  a.machine AS machine;

QUERY errors_close_together
PATTERN SEQ(error a, error b, error c)
WITHIN  200 EVENTS
RETURN  a.packet AS first, c.packet AS last;
"""
