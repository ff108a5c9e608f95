use super::*;

/// What makes a prefix a key.
const TAIL: &str = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z";

/// Texts with a key, the key, and what the mark calls it.
fn keys() -> Vec<(String, String, &'static str)> {
    let of_family = |(name, _, prefixes): &(&'static str, usize, &[&str])| {
        let keys = prefixes.iter().map(|prefix| format!("{prefix}{TAIL}"));
        let told = |key| (format!("the key is {key}, it says"), key, *name);
        keys.map(told).collect::<Vec<_>>()
    };
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1g";
    let pem =
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nq2w3\n-----END RSA PRIVATE KEY-----";
    let openssh = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA";
    let rows = [
        (format!("sent {jwt} there"), jwt, "JWT"),
        (format!("a\n{pem}\nb"), pem, "private key"),
        (format!("cut: {openssh}"), openssh, "private key"),
        (format!("Authorization: Bearer {TAIL}"), TAIL, "credentials"),
        (format!("authorization: bearer {TAIL}"), TAIL, "credentials"),
        (
            format!("Authorization: Basic {TAIL}=="),
            TAIL,
            "credentials",
        ),
        (
            "postgres://app:p4ss:w@rd@db/x".to_owned(),
            "p4ss:w@rd",
            "password",
        ),
        (
            "https://t0kenAlone@host/x".to_owned(),
            "t0kenAlone",
            "password",
        ),
        (
            "GET https://h/x?key=abcdefgh1&n=2".to_owned(),
            "abcdefgh1",
            "secret",
        ),
        (
            "GET https://h/x?n=2&token=abcdefgh1".to_owned(),
            "abcdefgh1",
            "secret",
        ),
        (
            "AWS_SECRET_ACCESS_KEY=wJalr/XUtn+FEMI".to_owned(),
            "wJalr/XUtn+FEMI",
            "secret",
        ),
        (
            r#"{"client_secret": "hunter2hunter2"}"#.to_owned(),
            "hunter2hunter2",
            "secret",
        ),
        (
            r#"{\"apiKey\": \"hunter2hunter2\"}"#.to_owned(),
            "hunter2hunter2",
            "secret",
        ),
        (
            "password: 'hunter2hunter2'".to_owned(),
            "hunter2hunter2",
            "secret",
        ),
        (
            "x-api-key: hunter2hunter2".to_owned(),
            "hunter2hunter2",
            "secret",
        ),
    ];
    let rows = rows.map(|(text, key, name)| (text, key.to_owned(), name));
    FAMILIES.iter().flat_map(of_family).chain(rows).collect()
}

// proves TL-14
#[test]
fn keys_of_known_formats_are_replaced_and_the_rest_stays() {
    for (text, key, name) in keys() {
        let shown = foreign(&text);
        assert!(!shown.contains(&key), "{text}");
        let wanted = text.replace(&key, &format!("[redacted: {name}]"));
        // What follows base64 in a header is a part of it.
        assert_eq!(shown, wanted.replace("]==", "]"), "{text}");
        assert_eq!(foreign(&shown), shown, "again: {text}");
    }
}

#[test]
fn texts_without_keys_stay_as_they_are() {
    for text in [
        "",
        "sk-, ghp_ and AKIA are prefixes",
        "a task-force-of-many-people-who-work-together",
        "bearer authentication is used; the token is missing",
        "the password is wrong: try again",
        "max_tokens=4096 tokens: 123456789",
        "https://example.org/a@b?q=12345678",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "eyJust a word",
        "Schlüssel: ключ, 密钥 и=пароль",
        "key: 0123456789",
    ] {
        assert!(
            matches!(foreign(text), Cow::Borrowed(same) if same == text),
            "{text}"
        );
    }
}
