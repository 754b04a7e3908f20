-- An index on every foreign key, and two unique ones on a name, as in the original. Primary keys
-- are in schema.mysql.sql.
ALTER TABLE accounts ADD INDEX (bank_id);
ALTER TABLE cards ADD INDEX (account_id);
ALTER TABLE users ADD INDEX (bank_id);
ALTER TABLE permissions ADD UNIQUE (name);
ALTER TABLE permissions ADD UNIQUE INDEX name_again (name);
ALTER TABLE tokens ADD INDEX (permission_id), ADD INDEX (user_id);
ALTER TABLE transfers ADD INDEX (card_id), ADD INDEX (from_account_id), ADD INDEX (to_account_id),
      ADD INDEX (requesting_user_id);
