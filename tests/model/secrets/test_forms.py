"""Each form in which a secret stands at its name, and ordinary texts that look like one."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.secrets.redaction import holds_secret, redacted

T = "S3cretTok"
CONNECTIONS = [
    *(f"SELECT dblink('host=h password={p}{T} user=u', 'x')" for p in ("Tiger.", "(", ":", "$1")),
    f"SELECT dblink('host=h password = Tiger.{T} user=u', 'x')",
    f"SELECT dblink('host=h password=''a b {T}'' user=u', 'x')",
    f"SELECT dblink(E'host=h password=\\'a b {T}\\' user=u', 'x')",
    f"it's select dblink('password=Tiger.{T}')",
    f"could not connect where host=h user=u password=Tiger.{T} sslmode=require",
    f"could not connect where host = h password = Tiger.{T} sslmode = require",
    f"COPY a FROM PROGRAM 'PGPASSWORD=Tiger.{T} psql -c \"select 1\"'",
    f"UPDATE t SET a = 1; my.password=Tiger.{T}",
    f"Driver={{ODBC}};Server=h;UID=u;PWD={{a b;}}}} {T}}};",
    f"Pwd={{a {T}",
    f"Host=h;Username=u;Password=a b {T};Database=x",
    f"Host=h;Password=a;b; {T};Database=x",
    f"Server=h;User Id=u;Password = a {T};",
    f'<add connectionString="Server=h;Password=a {T}" providerName="x"/>',
    f"Persist Security Info=True;User ID=sa;Password=a {T}",
    f"jdbc:sqlserver://h:1433;user=sa;password={{a;{T}}};encrypt=true",
    f"jdbc:oracle:thin:scott/{T}@//h:1521/x",
    f"postgresql://u:a b{T}@h/db",
    f"'postgresql://u:a b{T}@h/db', 'x'",
    f"postgresql://u:a@ b{T}@h/db",
    f"https://{T}@h/path",
    f"could not fetch http://{T}@h: refused",
    f"https://a.blob.core.windows.net/c?sv=1&sig={T}",
    f"https://s3/b?X-Amz-Date=1&X-Amz-Signature={T}",
    f"postgres://h/d?options=-c%20my.token%3D{T}",
]
VARIABLES = [
    f"set PGPASSWORD=a {T}",
    f"C:\\> x\nSET PGPASSWORD=a {T}",
    f"PGPASSWORD=$(echo {T}) psql",
    f"PGPASSWORD=`echo {T}` psql",
    f"PGPASSWORD=a\\\n{T} psql",
    f"--set 'arm.settings.my.password=a {T}'",
    *(f"{n}={T}" for n in ("dbpw", "REDIS_AUTH", "azure_key", "repo1-azure-key", "STRIPE_KEY")),
    *(f"{n}={T}" for n in ("AES_KEY_HEX", "MASTER_KEY_OLD", "masterkey", "pass2", "STRIPE_KEY_2")),
    *(f"{n} = '{T}'" for n in ("app.key1", "app.passkey", "password_check", "hmac_key_v2")),
    *(f"{n} = '{T}'" for n in ("WALG_LIBSODIUM_KEY", "principal_key", "x.principal_key")),
    f"os.environ['PGPASSWORD'] = '{T}'",
    f"curl -u a:{T} https://h",
    f"sshpass -p {T} ssh h",
]
CURL = (
    *(f"-fsSu ci:{T}", f"-uci:{T}", f"-fsSuci:{T}", f"--user ci:{T}", f"--user=ci:{T}"),
    *(f"-U p:{T}", f"--proxy-user p:{T}"),
    *(f"-su 'ci:a {T}'", f'-su "ci:a {T}"', f'-su \\"ci:a {T}\\"'),
    *(f"-U p:a -u ci:{T}", f"-u 'ci:a' --proxy-user=p:{T}"),
)
PROGRAMS = [
    *(f"curl {options} https://h" for options in CURL),
    f"COPY t FROM PROGRAM 'curl -su u:{T} https://h/x'",
    f'program "curl -su u:{T} https://h/x" failed',
    *(
        f"{program} -uroot -p{T} d"
        for program in (
            *("mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump", "/opt/bin/mysql"),
            *("./mysql", "docker exec db mysql", "x=$(mysql", 'sh -c "mysql', "cd a&&mysql"),
        )
    ),
    *(f"mysqldump -h h -NBp{T} d | gzip", f"mysql -e 'select 1; select 2' -p{T} < a.sql"),
    *(f"mysql -uroot -p{quote}a {T}{quote} d && make" for quote in ("'", '"', '\\"')),
    *(f"mydumper -u u -p {T}", f"mongodump -u u -p {T} -d d", f"mongosh -p'{T}'"),
    *(f"redis-cli -h h -a {T} ping", f"sqlcmd -S h -U sa -P {T}", f"sqlcmd -U sa -P'{T}' -Q x"),
    *(f"bcp d.dbo.t out f -S h -U sa -P{T} -c", f"freebcp d..t in f -U sa -P '{T}'"),
    *(f"mysqlsh bob:{T}@h:3306/d --sql", f"mysqlsh --sql --uri 'bob:{T}@h'"),
    *(f"sqlplus -S scott/{T}@//h/d", f"sqlplus scott/{T}", f"expdp userid=scott/{T} dumpfile=a"),
    *(f"ldapsearch -x -D cn=a -w {T}", f"docker login -u u -p {T} r", f"podman login r -p={T}"),
    *(f"openssl enc -d {o}pass:{T} -in x" for o in ("-pass ", "-passin ", "-passout=", "-pass '")),
    *(f"openssl enc -k {T} -in x", f"openssl enc -aes-256-cbc -K {T} -iv 0"),
    *(f"mysqladmin -u root password {T}", f"mariadb-admin -pa old-password '{T} a'"),
    *(f"7z x -so -p{T} a.7z", f"7za a -p'{T}' a.7z", f"unzip -P {T} -p a.zip", f"zip -P{T} a b"),
    *(f"smbclient //h/s -U u%{T} -c get", f"lftp -u u,{T} -e get ftp://h", f"cqlsh -u u -p {T}"),
    *(f"aws configure set aws_secret_access_key {T}", f"mc alias set s3 https://h AK {T} && ls"),
    *(f"influx -username a -password {T} -execute x", f"isql -v d sa {T}", f"isql d sa '{T} a'"),
    *(f"db2 connect to d user bob using {T}", f"CONNECT TO d USER bob USING {T}"),
    *(f"htpasswd -b f bob {T}", f"htpasswd -cbB f bob '{T}'"),
    *(f"sshpass -p '{T} a' ssh h", f"sshpass -p{T} ssh h", f"sshpass -v -p {T} ssh h"),
]
COLONS = [
    *(f"SELECT 1 {mark}password: {T}" for mark in ("-- ", "/* ", "/*", "# ", "// ")),
    *(f"{before}password: a b {T}" for before in ("", "  ", "- ", "x: 1\n", "user: u\n  ", "# ")),
    f"PGPASSWORD: {T}",
    f"password: |\n  a\n  {T}\nuser: u",
    f"- name: PGPASSWORD\n  value: {T}",
    f'{{"name":"PGPASSWORD","value":"{T}"}}',
    f'<add key="Password" value="{T}"/>',
    f"{{user: u, password: {T}, host: h}}",
    f'{{"password": 99{T}}}',
    f'{{"tokens": ["a", "{T}"]}}',
    f'{{\\"password\\":\\"{T}\\"}}',
    f'{{\\"password\\": \\"a\\\\\\"{T}\\", \\"x\\": 1}}',
    f'{{\\\\\\"password\\\\\\":\\\\\\"{T}\\\\\\"}}',
    f'"{{""password"":""a {T}""}}"',
    f'"pass\\u0077ord": "{T}"',
    f'curl -H "X-Api-Key: {T}" https://h',
    f"curl -H 'Authorization: {T} {T}' https://h",
    f"X-Vault-Token: {T}",
    f"Authorization: Token {T}",
    f"> Cookie: s={T}; b=1",
    f"Set-Cookie: sid={T}; Path=/",
    f"SecretAccessKey: {T}",
    f"<password>{T}</password>",
    f'<ns:password type="x"> {T} </ns:password>',
    f"<password><![CDATA[<{T}]]></password>",
    f"<password>{T}",
]
STATEMENTS = [
    *(
        f"SELECT {function}('bob', '{T}')"
        for function in (
            *("login", "app.login", "log_in", "user_login", "sign_in", "signup", "authenticate"),
            *("authenticate_user", "check_login", "verify_credentials", "create_user", "LogOn"),
        )
    ),
    f"SELECT * FROM app.login ($$bob$$, E'{T}', true)",
    f"CREATE USER a IDENTIFIED BY /*!50000 '{T}' */",
    f"CREATE USER a IDENTIFIED /*!50000 BY '{T}' */",
    f"CREATE USER a IDENTIFIED /*M!100100 WITH x AS '{T}' */",
    f"UPDATE u SET password = CASE WHEN id = 1 THEN '{T}' ELSE password END",
    f"UPDATE u SET password=CASE id WHEN 1 THEN 'a' ELSE E'{T}' END, b = 'c'",
    f"ALTER ROLE a PASSWORD 'a'\n'{T}'",
    f"ALTER ROLE a PASSWORD E'a\\\\' '{T}'",
    f"ALTER ROLE a PASSWORD 'a' || '{T}'",
    f"SET my.password TO {T}",
    f"ALTER ROLE u SET my.api_token TO {T}",
    f"CREATE USER u IDENTIFIED BY {T}",
    f"SET PASSWORD = 'a' REPLACE '{T}'",
    f"CREATE SERVER s FOREIGN DATA WRAPPER w OPTIONS (a 'y', pswd '{T}')",
    f"set password for u@h = 'a' replace '{T}' retain current password",
    f"INSERT INTO user (Host, authentication_string) VALUES ('%', '{T}')",
    f"CREATE DATABASE LINK l CONNECT TO u IDENTIFIED BY {T} USING 'x'",
    f"ALTER USER u IDENTIFIED BY VALUES 'S:{T}'",
    f"SELECT 1 FROM u WHERE password IN ('a', '{T}')",
    f"SELECT 1 FROM u WHERE token NOT IN ('a', '{T}')",
    f"SELECT 1 FROM u WHERE token = ANY('{{{T}}}')",
    f"SELECT 1 FROM u WHERE token = ANY (ARRAY['a', '{T}'])",
    f"SELECT 1 FROM u WHERE token BETWEEN '{T}' AND '{T}x'",
    f"SELECT 1 FROM u WHERE token IS NOT DISTINCT FROM '{T}'",
    f"SELECT 1 FROM u WHERE '{T}' = token",
    f"SELECT 'it''s {T}'::text AS api_token",
    f"UPDATE u SET password = crypt('{T}', gen_salt('bf'))",
    f"INSERT INTO users (name, password) VALUES ('a', '{T}'), ($$b$$, $${T}$$)",
    f"INSERT INTO users (token) VALUES ('{T}')",
    f"UPDATE u SET \"token\" = '{T}'",
    f"WHERE principal_key='x' OR vault.key = '{T}'",
    f"DECLARE @password nvarchar(50) = N'{T}'",
    f"DECLARE @pwd AS varchar(9) = '{T}'",
    f"DECLARE password CONSTANT text := '{T}';",
    f"DECLARE v_password varchar(20) NOT NULL := '{T}'",
    f"CREATE TABLE u (api_token character varying(64) DEFAULT '{T}'::character varying)",
    f"ALTER TABLE u ALTER COLUMN password SET DEFAULT '{T}'",
    f"ALTER ROLE u PASSWORD {T}",
    f"CREATE USER u LOGIN PASSWORD {T} VALID UNTIL 'x'",
    f"\\set password {T}",
    f"\\set password a {T}",
    f"\\setenv PGPASSWORD {T}",
]
CIPHERS = [
    f"SELECT pgp_sym_decrypt(ssn, '{T}') FROM u",
    f"Filter: (pgp_sym_decrypt(ssn, '{T}'::text) ~~ 'a%'::text)",
    f"select public.PGP_SYM_ENCRYPT ($1::text, concat('a', '{T}'), 'compress-algo=1')",
    f"SELECT pgp_pub_decrypt_bytea(a, dearmor($k${T}$k$), 'b{T}')",
    f"UPDATE u SET a = encrypt_iv('x', E'{T}', '\\x00', 'aes') WHERE id = 7",
    f"SELECT encode(hmac(body, '{T}', 'sha256'), 'hex') FROM t",
    f"SELECT id FROM u WHERE hash = crypt('{T}', hash)",
    f"INSERT INTO t VALUES (1, AES_ENCRYPT('a', \"{T}\")), (2, aes_encrypt('b', '{T}'))",
]
CALLS = [
    f"CALL mysql.rds_set_external_master ('h', 3306, 'repl', '{T}', 'mysql-bin.1', 107, 0)",
    f"CALL mysql.rds_set_external_source_with_delay('h', 3306, 'repl', '{T}', 'f', 0, 0, 1)",
    f"SELECT * FROM OPENROWSET('SQLNCLI', 'h';'sa';'{T}', 'SELECT 1')",
    f"SELECT postgres_fdw_connect('h', 'u', '{T}')",
    f"SELECT ai.set_openai_key('{T}')",
    f'["password", "{T}"]',
    f"SELECT f('app.token', '{T}'), 'search_path'",
    f"SELECT sign('{{\"role\": \"x\"}}'::json, '{T}') AS t",
    f"SELECT extensions.sign(row_to_json(r), '{T}', 'HS256') FROM r",
    f"SELECT sign(json_build_object('a', 'b', 'c', 1), '{T}')",
    f"SELECT * FROM VERIFY ('eyJ', '{T}')",
    f"SELECT my.f(stripe_key => '{T}')",
    f"SELECT pgsodium.create_key(name := 'x', raw_key := '{T}')",
    f"SELECT f(jsonb_build_object('a', now(), 'stripe_key', '{T}')), hstore('azure_key', '{T}')",
    f"CREATE SERVER s FOREIGN DATA WRAPPER w OPTIONS (host 'h', stripe_key '{T}')",
    f"ALTER SERVER s OPTIONS (SET \"sa_key\" '{T}')",
    f"CREATE USER MAPPING FOR postgres SERVER s OPTIONS (sa_key $${T}$$)",
    f"SELECT aws_commons.create_aws_credentials('AKIA', '{T}', '')",
    f"SELECT a, check_password('bob', $${T}$$) FROM u",
    f"CALL app.set_user_password(lower('bob'), E'{T}')",
    f"SELECT pgsodium.crypto_secretbox('m', 'n', '{T}')",
    f"SELECT crypto_aead_det_encrypt('m', 'a', '{T}'::bytea)",
    f"SELECT azure_storage.account_add('a', '{T}')",
    f"SELECT azure_ai.set_setting('azure_openai.subscription_key', '{T}')",
    f"SELECT http_header('Authorization', 'ApiKey {T}')",
    f"SELECT DECRYPTBYKEYAUTOCERT(CERT_ID('c'), N'{T}', a) FROM u",
    f"SELECT VALIDATE_PASSWORD_STRENGTH('{T}')",
    f"SELECT aws_s3.table_import_from_s3('t', '', '(format csv)', 'b', 'k', 'r', 'A', '{T}', '')",
    f"EXEC sp_addlogin 'bob', '{T}', 'db'",
    f"EXEC master..sp_addlogin bob, N'it''s {T}'",
    f"exec sp_addlogin @loginame = N'bob', @x = 0x01, @y = '{T}'",
    f"EXECUTE sp_password NULL, /* new */ '{T}', 'bob'",
    f"EXEC sp_addlinkedsrvlogin 'srv', false, NULL, 'bob', \"{T}\"",
    f"EXEC('sp_setapprole ''role'', ''{T}'', 1')",
]
SERVERS = [
    f'LOG:  parameter "archive_command" changed to "curl -H "a: {T}" -u a:{T}"',
    f'LOG:  parameter "primary_conninfo" changed to "host=h password={T}"',
    f"DETAIL:  Key (lower(email), api_key)=(a, {T}) already exists.",
    f"DETAIL:  Key (id)=(1) conflicts, Key (upper(token))=({T}).",
    f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{T}",
    f"x\n-----BEGIN OPENSSH PRIVATE KEY-----\n{T}\n",
    f"Basic {base64.b64encode(f'u:{T}'.encode()).decode()}",
    f"a bearer {T}{T}",
]
HARMLESS = [
    "unzip -p a.zip; 7z a -p a.7z; smbclient -U guest //h/s; lftp -u guest ftp://h; zip -r a b",
    "mysqladmin shutdown; the password is asked for; aws configure set region eu-west-1",
    "SELECT zip, city FROM addresses; SET password_encryption = 'md5'; SELECT replace(a, 'b', 'c')",
    "A basic benchmark of joins",
    "basic understanding, basic characteristics, BASIC INTERNATIONALIZATION",
    "the bearer of this certificate-of-authenticity",
    "SELECT t.token FROM t JOIN u ON t.token = u.token AND t.key = u.key",
    "SELECT 1 FROM t JOIN u ON t.token=u.token",
    "SELECT 1 FROM u WHERE password = $1 AND token=$2 AND key = 'a'",
    "SELECT 1 FROM u WHERE u.password = old.password OR password = new_password",
    "SELECT 1 FROM u WHERE password = (SELECT password FROM v)",
    "SELECT 1 FROM u WHERE password IS NULL AND token <> '' AND name <> ''",
    "SELECT 1 FROM u WHERE password = crypt($1, password)",
    "SELECT crypt($1, hash), hmac(a, $2, b), encode(digest('a', 'sha256'), 'hex') FROM u",
    "ALTER USER u PASSWORD EXPIRE; ALTER ROLE u PASSWORD NULL",
    "could not alter role: password authentication failed",
    "\\set token random(1, 100)",
    "\\set token :a + 1",
    "\\set token 5 * 2",
    "CREATE TABLE tokens (token text, kind text DEFAULT 'a')",
    "DELETE FROM tokens WHERE kind = 'a'; UPDATE tokens SET kind = 'a'",
    "SELECT t.token FROM tokens t WHERE kind = 'a'",
    "an encrypted (see 'a') file; encrypted('a'); the crypt of 'b'; my_crypt('c')",
    "CREATE INDEX ON tokens(kind) WHERE kind = 'a'; INSERT INTO tokens(id) VALUES ('a')",
    "SELECT partition_key('a', 'b'), count(token), length(password), ts_token_type('default')",
    "token(s) of the user's own; see password(5) and 'a'",
    "UPDATE u SET token = DEFAULT, password = NULL WHERE id = 1",
    'SELECT "u"."token", "u"."name" FROM u WHERE "u"."token" = "t"."token"',
    'SELECT "users"."token" AS "t0", "token", "id" FROM "users"',
    "INSERT INTO tokens (id, token) VALUES ($1, $2), ($3, $4)",
    "SELECT * FROM usertable WHERE ycsb_key = 'user' || :key",
    "SELECT 1 FROM f WHERE store_key = 5 AND customer_key = 'A' AND sort_key IN ('a')",
    "SELECT 1 FROM f WHERE t.key = 5 AND principal_key = 'A'",
    "SELECT 1 FROM f WHERE sort_key_2 = 'A' AND principal_key_old = 'A' AND key1 = 'A'",
    "SELECT sign('-5'), sign(a - '3'), verify('a'), design('a', 'b'), verify(a, $1)",
    "CREATE SERVER s FOREIGN DATA WRAPPER w OPTIONS (partition_key 'x', store_key 'y')",
    "SELECT jsonb_build_object('sort_key', 'x'), f(partition_key => 'x'), g(azure_key => k)",
    "SELECT jsonb_build_object('a', 'b') FROM t WHERE azure_key IN ('a') AND options (azure_key)",
    *(f'{n} = \'"tokens", "public"\'\n' for n in ("search_path", "temp_tablespaces")),
    'SET search_path TO "$user", "secrets", "public"; ALTER ROLE a SET search_path = "secret", "b"',
    "ALTER DATABASE d SET search_path TO 'app', 'secrets', 'public'",
    '{"search_path": "\\"tokens\\", \\"public\\"", "a": ["b"]}',
    'shared_preload_libraries = \'"credcheck", "secret", "auto_explain"\'',
    "SELECT set_sort_key('x'), get_azure_key('x'), azure_key('x'), mysql.rds_kill(1, 'x')",
    "SELECT * FROM OPENROWSET(BULK 'a.csv', FORMAT = 'CSV') AS x",
    "ALTER TABLE t ADD PRIMARY KEY (id), ADD FOREIGN KEY (b) REFERENCES u (id)",
    "Filter: (u.token = t.token)",
    "Hash Cond: (t.api_key = u.api_key)",
    "Sort Key: a, b",
    "Group Key: 'a'",
    "Index Cond: (ycsb_key = 'user1'::text)",
    'duplicate key value violates unique constraint "users_email_key"',
    'null value in column "token" of relation "u" violates not-null constraint',
    "SET SESSION AUTHORIZATION 'bob'",
    'SET SESSION AUTHORIZATION "bob"',
    "CREATE SCHEMA s AUTHORIZATION bob",
    "a set of rows identified by id",
    "initdb: --auth=trust --auth-local=peer",
    'LOG:  connection authenticated: identity="u" method=scram-sha-256',
    "password authentication failed",
    "--password <password> --host <host>",
    'say "enter a password", "x"',
    "{'error': 'no password', 'code': 'x'}",
    "git clone ssh://git@h/a and postgresql://u@h/d",
    "http://localhost:8080/x write to a@b.example",
    "postgresql://h:5432/d and mail a@b",
    "https://example.com/@user?x=a@b",
    '{"key": "value", "keys": ["a", "b"], "design": "a", "signal": "b"}',
    "ssl_key_file = 'a'; primary_key: id; foreign_keys = on",
    "token: null\npassword: true",
    "terminated by signal 11: the design is kept",
    "mysql -u root -p shop && mkdir -pv d && cp -pr a b",
    "mysql -P3306 -hproduction -uapp -Dprices --protocol=tcp d",
    "mysqldump shop | psql -p5432 shop",
    "gcc -I/usr/include/mysql -pthread a.c $(mysql_config --libs) -pipe",
    "docker run -p 3306:3306 mysql:8 && docker run --name mysql -p127.0.0.1:3306:3306 x",
    "docker run --name mysql -p3306:3306 -d x; podman run -p 1:1 x",
    "mongodump -p -d d; sqlcmd -S h -E -Q x; redis-cli -h h -n 0; ldapsearch -x -W",
    "mysqlsh --sql bob@h:3306 -e x; sqlplus /nolog; sqlplus / as sysdba; bcp d..t out f -T -c",
    "EXEC sp_addlogin bob, NULL; sp_addlogin failed, says the log",
    "curl -fsSL -o build/u https://h:8080/x && curl --user-agent Mozilla/5.0 https://h",
    "openssl enc -d -pass env:VARIABLE -in x; openssl x509 -in a -noout; openssl s_client -k",
]


EVERY = [*CONNECTIONS, *VARIABLES, *PROGRAMS, *COLONS, *STATEMENTS, *CIPHERS, *CALLS, *SERVERS]


@pytest.mark.parametrize("text", EVERY)
@pytest.mark.parametrize("around", ["{}", "LOG:  x\n{}\nLOG:  y"], ids=["alone", "in a log"])
def test_a_secret_is_hidden_in_each_form(text: str, around: str) -> None:
    text = around.format(text) if around != "{}" else text
    shown = redacted(text)
    assert T not in shown
    assert base64.b64encode(f"u:{T}".encode()).decode() not in shown
    assert redacted(shown) == shown
    assert holds_secret(text)


@pytest.mark.parametrize("text", HARMLESS)
@pytest.mark.parametrize("around", ["{}", "LOG:  x\n{}\nLOG:  y"], ids=["alone", "in a log"])
def test_an_ordinary_text_stays_whole(text: str, around: str) -> None:
    text = around.replace("{}", text)
    assert redacted(text) == text


@pytest.mark.parametrize(
    "value",
    ['"$user", "secrets", "public"', '"tokens", "public"', '"secret","b"', 'a, "credentials", "b"'],
)
def test_a_list_of_names_stays_whole_and_one_of_json_does_not(value: str) -> None:
    assert redacted(value) == value
    assert redacted(f"[{value}]") != f"[{value}]"


NAMES = st.sampled_from(["password", "PGPASSWORD", "sslpassword", "my.api_token", "dbpw"])
VALUES = st.text("abcXYZ019.:($-_/", min_size=3, max_size=12)


@given(NAMES, VALUES, st.sampled_from(["select 1; ", "UPDATE t SET a = 1 WHERE ", "join "]))
def test_what_is_written_as_a_variable_is_no_column_though_sql_is_near(
    name: str, value: str, sql: str
) -> None:
    hidden = f"Zq{value}qZ"
    for text in (f"{sql}x {name}={hidden}", f"{sql} dblink('h=1 {name} = {hidden} u=2')"):
        shown = redacted(text)
        assert "Zq" not in shown
        assert "qZ" not in shown


@given(st.sampled_from(["\\", "\\\\\\"]), st.text("abc ,:{}[]", max_size=10))
def test_json_in_json_hides_up_to_its_own_quote(escape: str, value: str) -> None:
    text = f'x {{{escape}"password{escape}": {escape}"Zq{value}{escape}", {escape}"n{escape}": 1}}'
    assert redacted(text) == text.replace(f"Zq{value}", "…")
