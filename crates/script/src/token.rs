//! Splits an expression into tokens, as pgbench's exprscan.l does.

/// One token of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Token<'a> {
    /// An integer; 2^63 is kept as it is, for it may follow a minus sign.
    Int(u64),
    Double(f64),
    Variable(&'a str),
    /// A function name or a keyword.
    Word(&'a str),
    Symbol(&'static str),
    End,
}

/// Longer symbols first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 22] = [
    "<<", ">>", "<=", ">=", "<>", "!=", "+", "-", "*", "/", "%", "(", ")", ",", "<", ">", "=", "&",
    "|", "#", "~", "::",
];

pub(crate) fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

pub(crate) fn is_name(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit()
}

/// How many bytes at the start of `bytes` hold.
pub(crate) fn run(bytes: &[u8], holds: impl Fn(u8) -> bool) -> usize {
    bytes
        .iter()
        .position(|byte| !holds(*byte))
        .unwrap_or(bytes.len())
}

/// The token at the start of `text` and its length; `text` begins with no space. Err: why not.
pub(crate) fn token(text: &str) -> Result<(Token<'_>, usize), String> {
    let bytes = text.as_bytes();
    let Some(&first) = bytes.first() else {
        return Ok((Token::End, 0));
    };
    if is_name_start(first) {
        let length = run(bytes, is_name);
        return Ok((Token::Word(&text[..length]), length));
    }
    if first.is_ascii_digit() || first == b'.' && bytes.get(1).is_some_and(u8::is_ascii_digit) {
        return number(text);
    }
    if first == b':' && bytes.get(1).copied().is_some_and(is_name_start) {
        let length = 1 + run(&bytes[1..], is_name);
        return Ok((Token::Variable(&text[1..length]), length));
    }
    match SYMBOLS.iter().find(|symbol| text.starts_with(**symbol)) {
        Some(&"::") => Err("casts are not supported in expressions: use int() or double()".into()),
        Some(symbol) => Ok((Token::Symbol(symbol), symbol.len())),
        None => {
            let shown = text.chars().next().unwrap_or(' ');
            let why = match shown {
                ';' => ": a command ends with its line, and takes no semicolon",
                '\'' | '"' => ": an expression has no texts; -D NAME=VALUE sets a variable to one",
                _ => "",
            };
            Err(format!("unexpected character \"{shown}\"{why}"))
        }
    }
}

fn number(text: &str) -> Result<(Token<'_>, usize), String> {
    let bytes = text.as_bytes();
    let digits = |from: usize| run(&bytes[from..], |byte| byte.is_ascii_digit());
    let mut length = digits(0);
    let mut whole = true;
    if bytes.get(length) == Some(&b'.') {
        whole = false;
        length += 1 + digits(length + 1);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits((length + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            whole = false;
            length += 1 + sign + exponent;
        }
    }
    let shown = &text[..length];
    if !whole {
        let value = shown
            .parse::<f64>()
            .map_err(|_| format!("invalid number \"{shown}\""))?;
        if value.is_infinite() {
            return Err("double constant overflow".into());
        }
        return Ok((Token::Double(value), length));
    }
    match shown.parse::<u64>() {
        Ok(value) if value <= 1 << 63 => Ok((Token::Int(value), length)),
        _ => Err("bigint constant overflow".into()),
    }
}
