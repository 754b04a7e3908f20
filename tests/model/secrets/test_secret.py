"""A secret is shown by nothing but a call that says so, and its names are known by their words."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import asdict, replace

import pytest

from steelyard.model.endpoint import Endpoint
from steelyard.model.secrets.secret import Secret, is_perhaps_a_column, is_secret

WORD = "correct-horse-9"


def test_nothing_that_prints_a_secret_shows_it() -> None:
    secret = Secret(WORD)
    shown = [repr(secret), str(secret), f"{secret}", f"{secret:>40}", f"{secret!r:<9}"]
    shown += [str([secret]), str({"password": secret}), str(asdict(_endpoint()))]
    shown += [repr(_endpoint()), str(replace(_endpoint(), port=1)), repr(copy.deepcopy(secret))]
    assert not [text for text in shown if WORD in text]
    assert secret.reveal() == WORD


def _endpoint() -> Endpoint:
    return Endpoint("h", 5432, "u", "d", password=Secret(WORD))


@pytest.mark.parametrize("send", [json.dumps, pickle.dumps, vars])
def test_a_secret_becomes_neither_json_nor_pickle(send: object) -> None:
    with pytest.raises(TypeError):
        send(Secret(WORD))  # type: ignore[operator]


def test_equal_secrets_are_equal_and_a_text_is_none() -> None:
    assert Secret(WORD) == Secret(WORD) != Secret("other")
    assert Secret(WORD) != WORD
    assert len({Secret(WORD), Secret(WORD)}) == 1
    assert [bool(Secret("")), bool(Secret(WORD)), Secret.of(None)] == [False, True, None]


@pytest.mark.parametrize(
    "name",
    [
        *("primary_conninfo", "archive_command", "restore_command", "ssl_passphrase_command"),
        *("archive_cleanup_command", "recovery_end_command", "my_ext.conninfo", "password"),
        *("PGPASSWORD", "MYSQL_PWD", "SQLCMDPASSWORD", "AWS_SECRET_ACCESS_KEY", "sslpassword"),
        *("oauth_client_secret", "scram_client_key", "x.api_key", "x.apiKey", "vault.token"),
        *("GITHUB_TOKEN", "session-token", "clientSecret", "db.connection_string", "my.dsn"),
        *("pgsodium.secret", "credentials", "azure.account_key", "pass%77ord", "vault.key"),
        *("arm.b.settings.my.api_token", "settings.primary_conninfo", "secret.access"),
        *(
            "dbpw",
            "olcRootPW",
            "REDIS_AUTH",
            "azure_key",
            "STRIPE_KEY",
            "x.principal_key",
            "x.auth",
        ),
        *("repo1-azure-key", "WALG_LIBSODIUM_KEY", "SecretAccessKey", "sig", "X-Amz-Signature"),
        *("Authorization", "Proxy-Authorization", "smtp.signature"),
        *("anon.salt", "app.password_pepper", "hashids.salt", "orioledb.s3_accesskey"),
        *("http.curlopt_proxyuserpwd", "duckdb.motherduck_token", "vectorize.openai_key"),
        *("data_encryption_key_unwrap_command", "neon.pageserver_connstring", "pgsodium.key"),
        *("app.aes_key_hex", "app.hmac_key_v2", "app.master_key_old", "app.key1", "vault.key_b64"),
        *("AES_KEY_HEX", "MASTER_KEY_OLD", "jwt_key_v2_base64", "storage-key-secondary", "pw2"),
        *("STRIPE_KEY_LIVE", "api_key_test", "apiKeyProd", "hmac_key2", "dbpass1", "db.token2"),
        *(
            "passkey",
            "app.passkey",
            "masterkey",
            "PASSKEYS",
            "app.masterkey_old",
            "aeskey",
            "pass2",
        ),
        *("password_current", "password_check", "password2", "passwd_new", "x.passwd_current"),
        *("report_password", "passphrase", "requirepass", "x.encryption_key", "--api-token"),
    ],
)
def test_a_name_that_carries_a_secret_is_known_whatever_brought_it(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("work_mem", "password_encryption", "ssl_passphrase_command_supports_reload"),
        *("ssl_key_file", "PGPASSFILE", "passfile", "sslkey", "ssl_key", "foreign_key_checks"),
        *("key_buffer_size", "primary_slot_name", "validate_password.length", "command", "key"),
        *("password_history", "md5_password_warnings", "bypass", "partition_key", "require_auth"),
        *("log_connections", "max_connections", "restrict_nonsystem_relation_kind", "compass"),
        *("arm.token.settings.jit", "arm.secret.version", "tokens.settings.work_mem"),
        *(
            "session_authorization",
            "authentication_timeout",
            "auth_delay.milliseconds",
            "auth_query",
        ),
        *("primary_key", "foreign_key", "foreign_keys", "sort_key", "cache_key", "users_email_key"),
        *("max_index_keys", "public_key", "customer_key", "idempotency_key", "a_key", "tls.key"),
        *(
            "ssl_key_file",
            "sql_generate_invisible_primary_key",
            "signal",
            "design",
            "signature_type",
        ),
        *("anon.algorithm", "wal_keep_size", "pgsodium.getkey_script", "vault.getkey_script"),
        *("pg_tde.wal_encrypt", "pg_tde.cipher", "supautils.reserved_roles", "salt_rounds"),
        *("credcheck.password_min_length", "credcheck.password_contain", "basalt", "no_salt"),
        *("timescaledb.passfile", "pgaudit.log_parameter", "cron.use_background_workers"),
        *("primary_key_old", "sort_key_2", "cache_key_v2", "customer_key1", "key1", "key_old"),
        *(
            "key_column",
            "public_key_b64",
            "public_key_prod",
            "tls.key2",
            "ssl_key_test",
            "keys_new",
        ),
        *("password_require_current", "old_passwords", "pgtle.enable_password_check"),
        *(
            "md5",
            "sha256",
            "passkey_count",
            "monkey",
            "turkey2",
            "hotkey",
            "master_key_id",
            "auth0",
        ),
        *("", "krb_server_keyfile", "default_password_lifetime", "token_timeout"),
    ],
)
def test_a_rule_for_secrets_or_the_place_of_one_is_none(name: str) -> None:
    assert not is_secret(name)


def test_the_key_of_some_owner_may_be_a_column_and_one_that_says_its_use_is_none() -> None:
    columns = ("ycsb_key", "t.principal_key", "azure_key", "azure_key_old", "t.principal_key2")
    others = (
        "aes_key_hex",
        "passkey",
        "app.key1",
        "api_key",
        "vault.key",
        "AWS_SECRET_ACCESS_KEY",
        "password",
        "my.token",
        "key",
    )
    assert [name for name in (*columns, *others) if is_perhaps_a_column(name)] == [*columns]


@pytest.mark.postgres
def test_no_setting_of_postgresql_but_those_that_carry_secrets_is_taken_for_one() -> None:
    carrying = {
        "primary_conninfo",
        "archive_command",
        "restore_command",
        "archive_cleanup_command",
        "recovery_end_command",
        "ssl_passphrase_command",
    }
    assert {name for name in _settings_of_postgresql() if is_secret(name)} == carrying


def _settings_of_postgresql() -> set[str]:
    from own_cache import own_server

    with own_server("18") as instance:
        return {*instance.settings()}  # type: ignore[attr-defined]
