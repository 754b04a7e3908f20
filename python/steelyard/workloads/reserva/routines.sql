-- What the payment's last statement calls, and how a client names the token of a user.

-- Tokens are the user's number in decimal digits, so that a script can say them.
CREATE FUNCTION token_of(user_number int) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT lpad(user_number::text, 32, '0')::uuid $$;

-- Both balances in one statement, which takes its locks in the order of the key; money that is not
-- there violates the check of the balance.
CREATE FUNCTION transfer_funds(
    card bigint, payer int, payee int, requesting_user int, sum bigint, at timestamp)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    made bigint;
BEGIN
    UPDATE accounts
       SET balance = balance + CASE id WHEN payer THEN -sum ELSE sum END
     WHERE id IN (payer, payee);
    INSERT INTO transfers (card_id, from_account_id, to_account_id, requesting_user_id, amount,
                           created_at)
    VALUES (card, payer, payee, requesting_user, sum, at)
    RETURNING id INTO made;
    RETURN made;
END $$;
