-- Money is neither made nor lost. Every row that a statement returns is a violation.

SELECT format('sum(balance) is %s, not %s', total, 50000000::bigint * 1000 * :scale)
  FROM (SELECT sum(balance) AS total FROM accounts) a
 WHERE total <> 50000000::bigint * 1000 * :scale;

SELECT format('account %s has balance %s', id, balance) FROM accounts WHERE balance < 0 LIMIT 10;

SELECT format('%s has %s rows, not %s', what, found, expected)
  FROM (SELECT 'accounts' AS what, count(*) AS found, 1000 * :scale AS expected FROM accounts
        UNION ALL SELECT 'cards', count(*), 1000 * :scale FROM cards
        UNION ALL SELECT 'tokens', count(*), 2 * :banks FROM tokens) counted
 WHERE found <> expected;

-- Transfers that are still there have moved what the balances say: the deleted ones moved the rest.
\if :deletes = 0
SELECT format('account %s has balance %s, its transfers make it %s',
              a.id, a.balance, 50000000 + m.moved)
  FROM accounts a
  LEFT JOIN (SELECT id, sum(amount) AS moved
               FROM (SELECT from_account_id AS id, -amount AS amount FROM transfers
                     UNION ALL SELECT to_account_id, amount FROM transfers) t
              GROUP BY id) m USING (id)
 WHERE a.balance <> 50000000 + coalesce(m.moved, 0)
 LIMIT 10;
\endif
