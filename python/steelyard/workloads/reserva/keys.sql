-- Primary keys, an index on every foreign key, and the original's second unique index on a name.
ALTER TABLE accounts ADD PRIMARY KEY (id);
CREATE INDEX ON accounts (bank_id);
ALTER TABLE cards ADD PRIMARY KEY (id);
CREATE INDEX ON cards (account_id);
ALTER TABLE banks ADD PRIMARY KEY (id);
ALTER TABLE users ADD PRIMARY KEY (id);
CREATE INDEX ON users (bank_id);
ALTER TABLE permissions ADD PRIMARY KEY (id);
ALTER TABLE permissions ADD UNIQUE (name);
CREATE UNIQUE INDEX ON permissions (name);
ALTER TABLE tokens ADD PRIMARY KEY (hash, permission_id);
CREATE INDEX ON tokens (permission_id);
CREATE INDEX ON tokens (user_id);
ALTER TABLE transfers ADD PRIMARY KEY (id);
CREATE INDEX ON transfers (card_id);
CREATE INDEX ON transfers (from_account_id);
CREATE INDEX ON transfers (to_account_id);
CREATE INDEX ON transfers (requesting_user_id);
