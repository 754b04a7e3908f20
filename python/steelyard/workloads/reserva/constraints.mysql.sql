-- The nine foreign keys: every transfer looks up four rows for them.
ALTER TABLE users ADD FOREIGN KEY (bank_id) REFERENCES banks (id) ON DELETE CASCADE;
ALTER TABLE tokens
  ADD FOREIGN KEY (permission_id) REFERENCES permissions (id) ON DELETE CASCADE,
  ADD FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE;
ALTER TABLE accounts ADD FOREIGN KEY (bank_id) REFERENCES banks (id) ON DELETE CASCADE;
ALTER TABLE cards ADD FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE;
ALTER TABLE transfers
  ADD FOREIGN KEY (card_id) REFERENCES cards (id) ON DELETE CASCADE,
  ADD FOREIGN KEY (from_account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  ADD FOREIGN KEY (to_account_id) REFERENCES accounts (id) ON DELETE CASCADE,
  ADD FOREIGN KEY (requesting_user_id) REFERENCES users (id) ON DELETE CASCADE;
