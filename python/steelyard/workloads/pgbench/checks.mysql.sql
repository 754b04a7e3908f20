-- What holds after any mix of the scripts. Every row that a statement returns is a violation.

-- Each transaction that writes adds its delta to one account and notes it in the history.
SELECT CONCAT('sum(abalance) is ', a.total, ' but sum(delta) is ', h.total)
  FROM (SELECT COALESCE(SUM(abalance), 0) AS total FROM pgbench_accounts) a,
       (SELECT COALESCE(SUM(delta), 0) AS total FROM pgbench_history) h
 WHERE a.total <> h.total;

-- Tellers and branches are updated together or not at all.
SELECT CONCAT('sum(tbalance) is ', t.total, ' but sum(bbalance) is ', b.total)
  FROM (SELECT COALESCE(SUM(tbalance), 0) AS total FROM pgbench_tellers) t,
       (SELECT COALESCE(SUM(bbalance), 0) AS total FROM pgbench_branches) b
 WHERE t.total <> b.total;

SELECT CONCAT('pgbench_', what, ' has ', found, ' rows, not ', expected)
  FROM (SELECT 'branches' AS what, COUNT(*) AS found, :scale AS expected FROM pgbench_branches
        UNION ALL
        SELECT 'tellers', COUNT(*), 10 * :scale FROM pgbench_tellers
        UNION ALL
        SELECT 'accounts', COUNT(*), 100000 * :scale FROM pgbench_accounts) counted
 WHERE found <> expected;
