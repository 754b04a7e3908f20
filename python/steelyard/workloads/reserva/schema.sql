-- Seven logged tables with the columns and types of Reserva's; keys and indexes follow the rows.

CREATE TABLE banks (id smallint NOT NULL);

CREATE TABLE users (id smallint NOT NULL, bank_id smallint NOT NULL, frozen boolean NOT NULL);

CREATE TABLE permissions (id smallint NOT NULL, name text NOT NULL);

CREATE TABLE tokens (
    hash uuid NOT NULL, permission_id smallint NOT NULL, user_id smallint NOT NULL,
    expires_at timestamp NOT NULL);

CREATE TABLE accounts (
    id int NOT NULL, bank_id smallint NOT NULL, balance bigint NOT NULL CHECK (balance >= 0),
    frozen boolean NOT NULL);

CREATE TABLE cards (
    id bigint NOT NULL, account_id int NOT NULL, expiration_date date NOT NULL,
    security_code smallint NOT NULL, frozen boolean NOT NULL);

CREATE TABLE transfers (
    id bigserial NOT NULL, card_id bigint, from_account_id int NOT NULL,
    to_account_id int NOT NULL, requesting_user_id int NOT NULL, amount bigint NOT NULL,
    created_at timestamp NOT NULL);
