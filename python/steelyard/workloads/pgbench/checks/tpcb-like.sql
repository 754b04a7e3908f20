-- What also holds where this is the only script that writes.

SELECT format('teller %s has balance %s but its history sums to %s', t.tid, t.tbalance, h.total)
  FROM pgbench_tellers t
  LEFT JOIN (SELECT tid, sum(delta) AS total FROM pgbench_history GROUP BY tid) h USING (tid)
 WHERE t.tbalance <> coalesce(h.total, 0);

SELECT format('branch %s has balance %s but its history sums to %s', b.bid, b.bbalance, h.total)
  FROM pgbench_branches b
  LEFT JOIN (SELECT bid, sum(delta) AS total FROM pgbench_history GROUP BY bid) h USING (bid)
 WHERE b.bbalance <> coalesce(h.total, 0);
