-- What holds after any mix of the scripts. Every row that a statement returns is a violation.

-- Each transaction that writes adds its delta to one account and notes it in the history. Accounts
-- are read once for their sum and their number.
SELECT CASE what
         WHEN 'sum' THEN CONCAT('sum(abalance) is ', a.total, ' but sum(delta) is ', h.total)
         ELSE CONCAT('pgbench_accounts has ', a.found, ' rows, not ', 100000 * :scale)
       END
  FROM (SELECT COALESCE(SUM(abalance), 0) AS total, COUNT(*) AS found FROM pgbench_accounts) a,
       (SELECT COALESCE(SUM(delta), 0) AS total FROM pgbench_history) h,
       (SELECT 'sum' AS what UNION ALL SELECT 'rows') checked
 WHERE CASE what WHEN 'sum' THEN a.total <> h.total ELSE a.found <> 100000 * :scale END;

-- Tellers and branches are updated together or not at all.
SELECT CONCAT('sum(tbalance) is ', t.total, ' but sum(bbalance) is ', b.total)
  FROM (SELECT COALESCE(SUM(tbalance), 0) AS total FROM pgbench_tellers) t,
       (SELECT COALESCE(SUM(bbalance), 0) AS total FROM pgbench_branches) b
 WHERE t.total <> b.total;

SELECT CONCAT('pgbench_', what, ' has ', found, ' rows, not ', expected)
  FROM (SELECT 'branches' AS what, COUNT(*) AS found, :scale AS expected FROM pgbench_branches
        UNION ALL
        SELECT 'tellers', COUNT(*), 10 * :scale FROM pgbench_tellers) counted
 WHERE found <> expected;
