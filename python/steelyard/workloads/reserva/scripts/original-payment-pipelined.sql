-- A payment as Reserva makes it, but with its three questions in one pipeline.
\set payer random(1, 1000 * :scale)
\set payee random(1, 1000 * :scale)
\set asking (:payer - 1) % :banks + 1
\set issuing (:payee - 1) % :banks + 1
\set amount random(0, 999)
\if :asking <> :issuing
\startpipeline
SELECT u.id, u.bank_id, u.frozen, t.permission_id, t.expires_at
  FROM users u JOIN tokens t ON t.user_id = u.id WHERE t.hash = token_of(:asking);
SELECT a.id, a.bank_id, a.balance, a.frozen, c.expiration_date, c.security_code, c.frozen
  FROM accounts a JOIN cards c ON c.account_id = a.id WHERE c.id = :payer;
-- Permission 1 once more, where 2 was meant.
SELECT u.id, u.bank_id, u.frozen, t.expires_at
  FROM users u JOIN tokens t ON t.user_id = u.id
 WHERE t.hash = token_of(:issuing) AND t.permission_id = 1;
\endpipeline
SELECT transfer_funds(:payer, :payer, :payee, :asking, :amount, now()::timestamp) AS transfer \gset
-- The original forgets the number of the transfer, and deletes number 0, which never was.
\if random(1, 100) <= :deletes
\set gone 0
DELETE FROM transfers WHERE id = :gone;
\endif
\endif
