"""Decides what is secret: a value that does not print itself, and the names that carry one."""

from __future__ import annotations

import re
from typing import Never

HIDDEN = "(not shown)"
"""In place of a value."""
LEFT_OUT = "…"
"""In place of a part of a text."""


class Secret:
    """A password, key or token. Printing, formatting or copying it into JSON shows no part of it;
    whatever sends it calls `reveal`."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    @classmethod
    def of(cls, value: str | None) -> Secret | None:
        """None stays None: there is no secret."""
        return None if value is None else cls(value)

    def reveal(self) -> str:
        """The value itself, for the connection or the pipe that needs it."""
        return self._value

    def __repr__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return format(HIDDEN, spec)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> Never:
        raise TypeError("a secret is not sent to another process")


_CARRIES = re.compile(
    r"passw|passphrase|passcode|secret|credential|conninfo|connstr|connectionstring"
    r"|authenticationstring"
    r"|apikey|accesskey|privatekey|authkey|encryptionkey|accountkey|signingkey|sharedkey"
)
_WORDS = frozenset(
    {
        *("pwd", "pswd", "pass", "pw", "dsn", "bearer", "token", "tokens", "jwt", "cookie"),
        *("cred", "creds"),
    }
)
_ENDS = re.compile(r"(?:token|pwd|pw|(?<!by)(?<!com)pass)$")
_LAST = frozenset({"auth", "authorization", "sig", "signature", "salt", "pepper"})
"""Secret as a last word: `REDIS_AUTH`, `X-Amz-Signature`, `anon.salt`."""
_NO_LAST = frozenset(re.findall(r"\w+", "require enable use disable session default role no"))
"""Before one of those: `require_auth` is a rule, `session_authorization` a role."""
_KEY_OF = frozenset(
    re.findall(
        r"\w+",
        "admin aes api access app auth client db dek encryption hmac http jwt kek kms license "
        "licence master pgp private rsa s3 sas secret server service session shared signing ssh "
        "storage user webhook",
    )
)
"""Before "key", whatever else is: `api_key_of`, `user_api_key`."""
_KEY_OF_DATA = frozenset(
    re.findall(
        r"\w+",
        "account advisory alternate array attr attribute author blob book branch btree bucket "
        "business by cache candidate cat category channel child city cluster clustered clustering "
        "code col collation column composite compound config conflict constraint correlation count "
        "country currency cust customer date day dedup department dept dict dim dimension dist "
        "distinct distribution document domain duplicate edge email emp employee entity entry "
        "event external fact feature field file first foreign func function group grouping hash "
        "hot i18n id idempotency identity idx index int invoice item items job join json jsonb "
        "kafka lang language last left line list location lock lookup map max member message meta "
        "metric min month name nation natural new next node null number num object old order "
        "ordering orders org organization own page parent part partial partition partitioning path "
        "person pivot point post prefix prev previous price primary product products promotion "
        "pub public queue range record ref reference region registry relation resource right row "
        "routing rule scan search seek seq sequence setting shard sharding ship skip slug smallint "
        "sort ssl start stat status store stream string subject sub sup suffix supp supplier "
        "surrogate synthetic tag task temp tenant test text tile time timestamp title tls topic "
        "transaction translation tree tuple tx type unique url username users uuid value version "
        "warehouse week word year",
    )
)
"""Before "key": of tables, caches and the like. What else is before it is the owner of a secret:
`azure_key`, `principal_key`."""
_OF_TLS = frozenset({"ssl", "tls"})
"""Such a key is the name of a file."""
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_ABOUT = frozenset(
    re.findall(
        r"\w+",
        "age algorithm attempts authentication autogen bits cache check checks count current days "
        "dir directory enabled encryption expiration expire expired file files format history "
        "hours interval len length lifetime limit max method min minimum minutes ms name number "
        "path plugin policy reload require required rounds seconds size special strength supports "
        "threshold time timeout ttl type upper users validation version warnings",
    )
)
"""Last words of what is a rule for secrets or the place of one: `password_encryption`,
`ssl_key_file`."""
_RULES_OF = (
    "validate_password",
    "simple_password_check",
    "passwordcheck",
    "cracklib",
    "credcheck",
    "old_passwords",
)
"""Modules whose settings are rules for passwords."""
_VARIANT = re.compile(
    r"v?\d+|hex|b(?:ase)?(?:32|58|64)(?:url)?|pem|raw|encoded|old|new|prev|previous|next|current"
    r"|primary|secondary|backup|live|test|dev|stage|staging|prod|production"
)
"""Last words that say which of several secrets it is, or how it is written: `aes_key_hex`."""
_COMPOUND = re.compile(
    r"^(pass|master|aes|hmac|rsa|jwt|pgp|ssh|kms|kek|dek|sas|licen[cs]e|webhook)(keys?)$"
)
_NUMBER = re.compile(r"(?<=[a-z])\d+$")
_LINES = re.compile(r".command$|conninfo$|passphrase|connstr|connectionstring|dsn$")


def is_secret(name: str) -> bool:
    """Whether a setting, a word of a connection string, a variable of an environment or an option
    of this name carries a secret, whatever extension or program it belongs to."""
    # Of a longer path, as arm.NAME.settings.x.y, what is before a setting's own name says nothing.
    owner, _, own = ".".join(_decoded(name).split(".")[-2:]).rpartition(".")
    words, of = _words(own), _words(owner)
    if "_".join([*of, *words]).startswith(_RULES_OF):
        return False
    last = words[-1:]
    if last and last[0] in _LAST and not _NO_LAST & {*of, *words[:-1]}:
        return True
    if last == ["command"] and len(of) + len(words) > 1:
        return True
    return _names_secret(of, words) or _names_secret(of, _without_variant(words))


def _names_secret(of: list[str], words: list[str]) -> bool:
    """Whether the words of a name, of what owner it is, name a password, a token or a key."""
    parts = [*of, *words]
    if not parts or parts[-1] in _ABOUT:
        return False
    if _CARRIES.search("".join(parts)) or _WORDS & {*parts} or _ENDS.search(parts[-1]):
        return True
    is_key = parts[-1] in ("key", "keys")
    return is_key and _is_secret_key({*parts[:-1]}, of_one=bool(of) and len(words) == 1)


def _without_variant(words: list[str]) -> list[str]:
    """Those of the secret of which a name is one of several: `passkey`, `key1`, `hmac_key_v2`."""
    words = [*words]
    while len(words) > 1 and _VARIANT.fullmatch(words[-1]):
        words.pop()
    if len(words) == 2 and words[1] == "check" and _CARRIES.search(words[0]):
        words.pop()  # it is typed twice
    if words:
        words[-1] = _NUMBER.sub("", words[-1])
        words[-1:] = _words(_COMPOUND.sub(r"\1_\2", words[-1]))
    return words


def _is_secret_key(owner: set[str], *, of_one: bool) -> bool:
    """Whether the key of an owner is secret, by the owner's words; `of_one`: vault.key."""
    if _OF_TLS & owner:
        return False
    if of_one or _KEY_OF & owner:
        return True
    return bool(owner) and not _KEY_OF_DATA & owner and not owner <= _LETTERS


def is_perhaps_a_column(name: str) -> bool:
    """Whether a secret name is known only as the key of some owner, as `azure_key` is: a column of
    a table may have such a name."""
    words = _without_variant(_words(_decoded(name).rpartition(".")[2]))
    if len(words) < 2 or words[-1] not in ("key", "keys") or _CARRIES.search("".join(words)):
        return False
    return not (_KEY_OF | _WORDS) & {*words}


def is_surely_secret(name: str) -> bool:
    """Whether it names a secret, and is no column that is only called so."""
    return is_secret(name) and not is_perhaps_a_column(name)


def _words(name: str) -> list[str]:
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return [word for word in re.split(r"[^a-z0-9]+", plain) if word]


_METHODS = re.compile(
    r"[\"']?(?:trust|reject|peer|ident|md5|scram-sha-256|password|gss|sspi|ldap|radius|cert|pam|bsd"
    r"|oauth|none|basic|digest|negotiate)(?![\w-])",
    re.IGNORECASE,
)


def is_method(name: str, value: str) -> bool:
    """Whether a value names a way of authentication, as that of initdb's `--auth` does."""
    return name.lower().endswith("auth") and _METHODS.match(value) is not None


def is_line_of_secrets(name: str) -> bool:
    """Whether what such a name carries may hold blanks: a command, a connection string."""
    return _LINES.search("".join(re.findall(r"[a-z0-9]+", _decoded(name).lower()))) is not None


def _decoded(name: str) -> str:
    """As libpq decodes the words of a URI."""
    if "%" not in name:
        return name
    from urllib.parse import unquote

    return unquote(name)
