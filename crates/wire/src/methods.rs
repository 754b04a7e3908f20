//! Restricts the authentication methods that a client accepts: libpq's `require_auth`
//! (interfaces/libpq/fe-connect.c, pqConnectOptions2; fe-auth.c, check_expected_areq).

use crate::error::WireError;

/// One method of authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// The server requires nothing: trust, or a certificate that it has seen already.
    None,
    Password,
    Md5,
    Scram,
}

/// By their names; those that are never accepted have no method.
const NAMES: [(&str, Option<Method>); 7] = [
    ("none", Some(Method::None)),
    ("password", Some(Method::Password)),
    ("md5", Some(Method::Md5)),
    ("scram-sha-256", Some(Method::Scram)),
    ("gss", None),
    ("sspi", None),
    ("oauth", None),
];

/// The accepted methods; all of them by default.
#[derive(Clone, Debug, Default)]
pub struct Methods {
    /// As it was given.
    given: String,
    /// One bit each; 0: all.
    accepted: u8,
}

impl Methods {
    /// Names after commas, all or none of them after an exclamation mark.
    pub fn parse(given: &str) -> Result<Methods, WireError> {
        let invalid =
            |why: &str| WireError::Authentication(format!("require_auth {why}: \"{given}\""));
        let refuses = given.starts_with('!');
        let mut named = 0;
        for word in given.split(',') {
            let word = word.trim();
            let name = word.strip_prefix('!').unwrap_or(word);
            if word.starts_with('!') != refuses {
                return Err(invalid("cannot both accept and refuse"));
            }
            let known = NAMES.iter().find(|(known, _)| *known == name);
            let (_, method) = known.ok_or_else(|| invalid("names an unknown method"))?;
            // A bit of its own for those that never happen: a list of them accepts nothing else.
            named |= method.map_or(1 << 7, bit);
        }
        Ok(Methods {
            given: given.to_owned(),
            accepted: if refuses { !named } else { named },
        })
    }

    /// Fails unless the method that the server requests is accepted.
    pub(crate) fn require(&self, method: Method) -> Result<(), WireError> {
        if self.accepted == 0 || self.accepted & bit(method) != 0 {
            return Ok(());
        }
        let what = match method {
            Method::None => "server did not ask for authentication",
            Method::Password => "server requested a cleartext password",
            Method::Md5 => "server requested a hashed password",
            Method::Scram => "server requested SASL authentication",
        };
        let given = &self.given;
        Err(WireError::Authentication(format!(
            "authentication method requirement \"{given}\" failed: {what}"
        )))
    }
}

fn bit(method: Method) -> u8 {
    1 << method as u8
}
