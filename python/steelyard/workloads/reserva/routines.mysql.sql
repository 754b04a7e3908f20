-- What the payment's last statement calls. The scripts write the token of a user out: PostgreSQL
-- puts the body of its function token_of into the query, and MySQL would call it.

-- Both balances in one statement, which takes its locks in the order of the key; money that is not
-- there is out of the balance's range. One transaction, as a function of PostgreSQL is; its answer
-- is the number of the transfer.
CREATE PROCEDURE transfer_funds(
    card bigint, payer int, payee int, requesting_user smallint, total bigint, made_at datetime(6))
BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    START TRANSACTION;
    UPDATE accounts
       SET balance = balance + CASE id WHEN payer THEN -total ELSE total END
     WHERE id IN (payer, payee);
    INSERT INTO transfers (card_id, from_account_id, to_account_id, requesting_user_id, amount,
                           created_at)
    VALUES (card, payer, payee, requesting_user, total, made_at);
    COMMIT;
    SELECT LAST_INSERT_ID() AS transfer;
END;
