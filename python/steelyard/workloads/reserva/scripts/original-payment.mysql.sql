-- A payment as Reserva makes it: between users of one bank nothing happens, which is 2 of 100.
\set payer random(1, 1000 * :scale)
\set payee random(1, 1000 * :scale)
-- The payee's bank asks for the money; the payer's, which issued the card, approves.
\set asking (:payee - 1) % :banks + 1
\set issuing (:payer - 1) % :banks + 1
\set amount random(0, 999)
\if :asking <> :issuing
SELECT u.id, u.bank_id, u.frozen, t.hash, t.permission_id, t.expires_at
  FROM users u JOIN tokens t ON t.user_id = u.id
 WHERE t.hash = CONCAT('00000000-0000-0000-0000-', LPAD(:asking, 12, '0'));
SELECT a.id, a.bank_id, a.balance, a.frozen, c.expiration_date, c.security_code, c.frozen
  FROM accounts a JOIN cards c ON c.account_id = a.id WHERE c.id = :payer \gset card_
\if :card_balance >= :amount
-- The first question again: both permissions come, and the client looks at 1, where 2 was meant.
SELECT u.id, u.bank_id, u.frozen, t.hash, t.permission_id, t.expires_at
  FROM users u JOIN tokens t ON t.user_id = u.id
 WHERE t.hash = CONCAT('00000000-0000-0000-0000-', LPAD(:issuing, 12, '0'));
CALL transfer_funds(:payer, :payer, :payee, :asking, :amount, CURRENT_TIMESTAMP(6)) \gset
-- The original knows the numbers of its transfers here, as it does not on PostgreSQL: of one of those
-- made so far; if it is gone already, of none.
\set transfers :transfers + 1
\if (:transfers + :client_id) * :deletes % 100 < :deletes
\set gone random(1, :transfer)
DELETE FROM transfers WHERE id = :gone;
\endif
\endif
\endif
