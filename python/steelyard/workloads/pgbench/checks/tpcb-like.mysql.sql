-- What also holds where this is the only script that writes.

SELECT CONCAT('teller ', t.tid, ' has balance ', t.tbalance, ' but its history sums to ',
              COALESCE(h.total, 0))
  FROM pgbench_tellers t
  LEFT JOIN (SELECT tid, SUM(delta) AS total FROM pgbench_history GROUP BY tid) h USING (tid)
 WHERE t.tbalance <> COALESCE(h.total, 0);

SELECT CONCAT('branch ', b.bid, ' has balance ', b.bbalance, ' but its history sums to ',
              COALESCE(h.total, 0))
  FROM pgbench_branches b
  LEFT JOIN (SELECT bid, SUM(delta) AS total FROM pgbench_history GROUP BY bid) h USING (bid)
 WHERE b.bbalance <> COALESCE(h.total, 0);
