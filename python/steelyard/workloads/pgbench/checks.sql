-- What holds after any mix of the scripts. Every row that a statement returns is a violation.

-- Each transaction that writes adds its delta to one account and notes it in the history. Accounts
-- are read once for their sum and their number.
SELECT CASE what
         WHEN 'sum' THEN format('sum(abalance) is %s but sum(delta) is %s', a.total, h.total)
         ELSE format('pgbench_accounts has %s rows, not %s', a.found, 100000 * :scale)
       END
  FROM (SELECT coalesce(sum(abalance), 0) AS total, count(*) AS found FROM pgbench_accounts) a,
       (SELECT coalesce(sum(delta), 0) AS total FROM pgbench_history) h,
       (SELECT 'sum' AS what UNION ALL SELECT 'rows') checked
 WHERE CASE what WHEN 'sum' THEN a.total <> h.total ELSE a.found <> 100000 * :scale END;

-- Tellers and branches are updated together or not at all.
SELECT format('sum(tbalance) is %s but sum(bbalance) is %s', t.total, b.total)
  FROM (SELECT coalesce(sum(tbalance), 0) AS total FROM pgbench_tellers) t,
       (SELECT coalesce(sum(bbalance), 0) AS total FROM pgbench_branches) b
 WHERE t.total <> b.total;

SELECT format('pgbench_%s has %s rows, not %s', what, found, expected)
  FROM (SELECT 'branches' AS what, count(*) AS found, :scale AS expected FROM pgbench_branches
        UNION ALL
        SELECT 'tellers', count(*), 10 * :scale FROM pgbench_tellers) counted
 WHERE found <> expected;
