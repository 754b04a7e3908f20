-- A payment, each statement a transaction that waits for the one before; deletes that delete.
\set payer random(1, 1000 * :scale)
\set payee random(1, 1000 * :scale)
-- Nobody pays at the own bank: the account beside is at another, the next but for the last one.
\if (:payer - :payee) % :banks = 0
\set payee case when :payee < 1000 * :scale then :payee + 1 else :payee - 1 end
\endif
-- The payee's bank asks for the money; the payer's, which issued the card, approves.
\set asking (:payee - 1) % :banks + 1
\set issuing (:payer - 1) % :banks + 1
\set amount random(0, 999)
SELECT u.id, u.bank_id, u.frozen, t.permission_id, t.expires_at
  FROM users u JOIN tokens t ON t.user_id = u.id WHERE t.hash = token_of(:asking);
SELECT a.id, a.bank_id, a.balance, a.frozen, c.expiration_date, c.security_code, c.frozen
  FROM accounts a JOIN cards c ON c.account_id = a.id WHERE c.id = :payer \gset card_
\if :card_balance >= :amount
SELECT u.id, u.bank_id, u.frozen, t.expires_at
  FROM users u JOIN tokens t ON t.user_id = u.id
 WHERE t.hash = token_of(:issuing) AND t.permission_id = 2;
SELECT transfer_funds(:payer, :payer, :payee, :asking, :amount, now()::timestamp) AS transfer \gset
-- Of every hundred of a client's transfers so many are followed by a delete: of one of those made
-- so far; if it is gone already, of none.
\set transfers :transfers + 1
\if (:transfers + :client_id) * :deletes % 100 < :deletes
\set gone random(1, :transfer)
DELETE FROM transfers WHERE id = :gone;
\endif
\endif
