//! Keys that are not ours, by their known formats.
//!
//! For logs, errors and the audit alone: a file that a model reads with a mark in the place of a key
//! would be written back so (TL-14).

use std::borrow::Cow;
use std::ops::Range;

/// Families of keys that begin alike: what the mark calls them, the fewest characters after the
/// prefix, and the prefixes. The longer of two prefixes that begin alike stands first.
const FAMILIES: &[(&str, usize, &[&str])] = &[
    ("AWS key id", 16, &["AKIA", "ASIA"]),
    ("Anthropic key", 16, &["sk-ant-"]),
    ("OpenRouter key", 16, &["sk-or-"]),
    ("OpenAI key", 20, &["sk-"]),
    ("Stripe key", 16, &["sk_live_", "sk_test_", "rk_live_"]),
    ("Stripe secret", 16, &["whsec_"]),
    (
        "GitHub token",
        20,
        &["github_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
    ),
    ("GitLab token", 16, &["glpat-"]),
    (
        "Slack token",
        10,
        &[
            "xoxb-", "xoxp-", "xoxa-", "xoxe-", "xoxr-", "xoxs-", "xapp-",
        ],
    ),
    ("Google key", 30, &["AIza"]),
    ("Google token", 20, &["ya29."]),
    ("Google secret", 20, &["GOCSPX-"]),
    ("Groq key", 20, &["gsk_"]),
    ("xAI key", 20, &["xai-"]),
    ("Hugging Face token", 20, &["hf_"]),
    ("Replicate token", 20, &["r8_"]),
    ("Perplexity key", 20, &["pplx-"]),
    ("npm token", 20, &["npm_"]),
    ("PyPI token", 20, &["pypi-"]),
    ("crates.io token", 30, &["cio"]),
    ("Docker token", 16, &["dckr_pat_"]),
    ("DigitalOcean token", 32, &["dop_v1_"]),
    ("Doppler token", 20, &["dp.pt."]),
    ("SendGrid key", 30, &["SG."]),
    ("Shopify token", 20, &["shpat_"]),
    ("Linear key", 20, &["lin_api_"]),
    ("Notion token", 20, &["ntn_"]),
    ("Vault token", 20, &["hvs."]),
    ("Age key", 20, &["AGE-SECRET-KEY-1"]),
    ("Tavily key", 16, &["tvly-"]),
];

/// Names whose value is a secret in a query, an assignment or a field: their last words.
const NAMES: &[&str] = &[
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "access_token",
    "accesstoken",
    "auth_token",
    "client_secret",
    "password",
    "passwd",
    "private_key",
    "refresh_token",
    "secret",
    "secret_key",
    "secret_access_key",
    "signature",
];

/// Names whose value is a secret as a parameter of a URL.
const PARAMETERS: &[&str] = &["key", "token", "sig", "code", "pwd", "auth"];

/// Authorization schemes, in lower case, with the space after them.
const SCHEMES: &[&str] = &["bearer ", "basic "];

/// Characters of the value of a name, at least.
const LEAST_VALUE: usize = 8;
/// Characters of credentials after a scheme, at least: `bearer authentication` is a word.
const LEAST_CREDENTIALS: usize = 16;

/// A text in which foreign keys of known formats are replaced by `[redacted: …]`.
pub fn foreign(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let (mut out, mut kept, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        let Some((range, name)) = found(text, at) else {
            at += 1;
            continue;
        };
        out.push_str(&text[kept..range.start]);
        out.push_str("[redacted: ");
        out.push_str(name);
        out.push(']');
        (kept, at) = (range.end, range.end);
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// The key that is recognised at a position, by how it begins or by what stands before it.
fn found(text: &str, at: usize) -> Option<(Range<usize>, &'static str)> {
    let bytes = text.as_bytes();
    match bytes[at] {
        b'-' => pem(text, at).map(|range| (range, "private key")),
        b':' if bytes[at..].starts_with(b"://") => {
            user_info(bytes, at + 3).map(|range| (range, "password"))
        }
        b'=' | b':' => named(text, at).map(|range| (range, "secret")),
        byte if byte.is_ascii_alphabetic() && is_border(bytes, at) => begins(text, at),
        _ => None,
    }
}

fn begins(text: &str, at: usize) -> Option<(Range<usize>, &'static str)> {
    let (bytes, rest) = (text.as_bytes(), &text.as_bytes()[at..]);
    for (name, least, prefixes) in FAMILIES {
        for prefix in *prefixes {
            // Most words begin otherwise, and cost no more than this.
            if prefix.as_bytes()[0] == rest[0] && rest.starts_with(prefix.as_bytes()) {
                let length = run(rest, prefix.len(), is_key);
                if length >= *least {
                    return Some((at..at + prefix.len() + length, name));
                }
            }
        }
    }
    if rest.starts_with(b"eyJ") {
        return jwt(bytes, at).map(|range| (range, "JWT"));
    }
    let begins = |scheme: &&&str| {
        let head = rest.get(..scheme.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(scheme.as_bytes()))
    };
    let scheme = SCHEMES.iter().find(begins)?;
    let start = at + scheme.len();
    let length = run(bytes, start, is_credentials);
    (length >= LEAST_CREDENTIALS).then_some((start..start + length, "credentials"))
}

/// Three pieces in base64, the first two of which are JSON objects.
fn jwt(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let mut end = at;
    for piece in 0..3 {
        if piece > 0 {
            (bytes.get(end) == Some(&b'.')).then_some(())?;
            end += 1;
        }
        let length = run(bytes, end, is_base64_url);
        // A signature may be left out.
        (length >= 8 || piece == 2).then_some(())?;
        end += length;
    }
    Some(at..end)
}

/// A private key from its first line to its last, or to the end of the text.
fn pem(text: &str, at: usize) -> Option<Range<usize>> {
    const BEGIN: &str = "-----BEGIN ";
    let label = text.get(at..)?.strip_prefix(BEGIN)?;
    let (label, _) = label.split_once("-----")?;
    let is_label = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
    (label.ends_with("PRIVATE KEY") && label.bytes().all(is_label)).then_some(())?;
    let end = format!("-----END {label}-----");
    let length = text[at..].find(&end).map(|last| last + end.len());
    Some(at..length.map_or(text.len(), |length| at + length))
}

/// The password in the authority of a URL; the user, if there is no password.
fn user_info(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let is_inside = |byte: u8| !byte.is_ascii_whitespace() && !b"/?#\"'<>\\`".contains(&byte);
    let authority = &bytes[start..start + run(bytes, start, is_inside)];
    let end = start + authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = bytes[start..end].iter().position(|byte| *byte == b':');
    let start = colon.map_or(start, |colon| start + colon + 1);
    (start < end).then_some(start..end)
}

/// The value behind `=` or `:`, when the name before it says that it is a secret.
fn named(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'-';
    let is_space = |byte: &u8| *byte == b' ' || *byte == b'"' || *byte == b'\'' || *byte == b'\\';
    let before = &bytes[..at];
    let end = before.iter().rposition(|byte| !is_space(byte))? + 1;
    let start = before[..end].iter().rposition(|byte| !is_name(byte));
    let start = start.map_or(0, |other| other + 1);
    let name = text.get(start..end)?.to_ascii_lowercase();
    let is_parameter =
        bytes[at] == b'=' && start > 0 && (bytes[start - 1] == b'?' || bytes[start - 1] == b'&');
    let is_secret = NAMES.iter().any(|known| name.ends_with(known))
        || is_parameter && PARAMETERS.contains(&name.as_str());
    is_secret.then_some(())?;
    let value = at
        + 1
        + bytes[at + 1..]
            .iter()
            .take_while(|byte| is_space(byte))
            .count();
    let is_inside = |byte: u8| {
        !byte.is_ascii_whitespace() && !b"\"'`,;&<>)}]\\".contains(&byte) && byte.is_ascii_graphic()
    };
    let length = run(bytes, value, is_inside);
    let is_mark = text[value..].starts_with("[redacted");
    // In prose the name of a setting may follow: `OPENAI_API_KEY: providers.openai.api_key is …`.
    let is_name = |byte: &u8| byte.is_ascii_lowercase() || b"._".contains(byte);
    let is_prose = bytes[at] == b':' && bytes[value..value + length].iter().all(is_name);
    (length >= LEAST_VALUE && !is_mark && !is_prose).then_some(value..value + length)
}

/// Whether a word begins here.
fn is_border(bytes: &[u8], at: usize) -> bool {
    at == 0 || !bytes[at - 1].is_ascii_alphanumeric() && bytes[at - 1] != b'_'
}

/// How many bytes from a position on are of a kind.
fn run(bytes: &[u8], from: usize, is: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().take_while(|byte| is(**byte)).count()
}

fn is_base64_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

fn is_key(byte: u8) -> bool {
    is_base64_url(byte) || byte == b'.'
}

fn is_credentials(byte: u8) -> bool {
    is_key(byte) || b"+/=~".contains(&byte)
}

#[cfg(test)]
mod tests;
