-- Seven tables with the columns of Reserva's. InnoDB keeps rows in the primary key, so the primary
-- keys are there before the rows, which come in their order.
--
-- A token is a uuid as text of 36 characters. A balance is unsigned, for no MySQL before 8.0.16
-- holds a CHECK: money that is not there is an error of its range. The user who asks for a transfer
-- has the type of the key that it refers to, which InnoDB demands.

CREATE TABLE banks (id smallint NOT NULL PRIMARY KEY);

CREATE TABLE users (
    id smallint NOT NULL PRIMARY KEY, bank_id smallint NOT NULL, frozen boolean NOT NULL);

CREATE TABLE permissions (id smallint NOT NULL PRIMARY KEY, name varchar(100) NOT NULL);

CREATE TABLE tokens (
    hash char(36) NOT NULL, permission_id smallint NOT NULL, user_id smallint NOT NULL,
    expires_at datetime(6) NOT NULL, PRIMARY KEY (hash, permission_id));

CREATE TABLE accounts (
    id int NOT NULL PRIMARY KEY, bank_id smallint NOT NULL, balance bigint unsigned NOT NULL,
    frozen boolean NOT NULL);

CREATE TABLE cards (
    id bigint NOT NULL PRIMARY KEY, account_id int NOT NULL, expiration_date date NOT NULL,
    security_code smallint NOT NULL, frozen boolean NOT NULL);

CREATE TABLE transfers (
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, card_id bigint, from_account_id int NOT NULL,
    to_account_id int NOT NULL, requesting_user_id smallint NOT NULL, amount bigint NOT NULL,
    created_at datetime(6) NOT NULL);
