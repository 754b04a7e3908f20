-- Money is neither made nor lost. Every row that a statement returns is a violation.

SELECT CONCAT('sum(balance) is ', total, ', not ', 50000000 * 1000 * :scale)
  FROM (SELECT SUM(balance) AS total FROM accounts) a
 WHERE total <> 50000000 * 1000 * :scale;

SELECT CONCAT('account ', id, ' has balance ', balance) FROM accounts WHERE balance < 0 LIMIT 10;

SELECT CONCAT(what, ' has ', found, ' rows, not ', expected)
  FROM (SELECT 'accounts' AS what, COUNT(*) AS found, 1000 * :scale AS expected FROM accounts
        UNION ALL SELECT 'cards', COUNT(*), 1000 * :scale FROM cards
        UNION ALL SELECT 'tokens', COUNT(*), 2 * :banks FROM tokens) counted
 WHERE found <> expected;

-- Transfers that are still there have moved what the balances say: the deleted ones moved the rest.
\if :deletes = 0
SELECT CONCAT('account ', a.id, ' has balance ', a.balance, ', its transfers make it ',
              50000000 + COALESCE(m.moved, 0))
  FROM accounts a
  LEFT JOIN (SELECT id, SUM(amount) AS moved
               FROM (SELECT from_account_id AS id, -amount AS amount FROM transfers
                     UNION ALL SELECT to_account_id, amount FROM transfers) t
              GROUP BY id) m USING (id)
 WHERE a.balance <> 50000000 + COALESCE(m.moved, 0)
 LIMIT 10;
\endif
