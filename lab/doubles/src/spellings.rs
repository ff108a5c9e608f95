//! A key in all the formats in which text carries it, for tests that none of them gets out (TL-14).
//! Written without the code under test.

/// A text with a key in it.
pub struct Spelling {
    /// What it is.
    pub name: &'static str,
    /// The text.
    pub text: String,
    /// The part of it that must not get out.
    pub needle: String,
}

/// A key with the characters that formats escape.
pub const KEY: &str = "sk-Zq7/w+8_xR2yTn5&VbL0e.d4K=mP9";

/// The key in every format, each under its name.
pub fn of(key: &str) -> Vec<Spelling> {
    let mut all = Vec::new();
    quoted(key, &mut all);
    escaped(key, &mut all);
    encoded(key, &mut all);
    split(key, &mut all);
    all
}

fn add(all: &mut Vec<Spelling>, name: &'static str, text: impl Into<String>, needle: &str) {
    all.push(Spelling {
        name,
        text: text.into(),
        needle: needle.to_owned(),
    });
}

/// As it is, among other text.
fn quoted(key: &str, all: &mut Vec<Spelling>) {
    let rows = [
        ("plain", format!("the key {key} is here")),
        ("alone", key.to_owned()),
        ("header", format!("authorization: Bearer {key}\r\n")),
        ("debugged header", format!("{{\"x-api-key\": {key:?}}}")),
        ("shell", format!("export OPENAI_API_KEY='{key}'")),
        ("YAML", format!("key: \"{key}\" # mine")),
        ("TOML", format!("api_key = \"{key}\"")),
        ("environment", format!("A=1\0OPENAI_API_KEY={key}\0B=2")),
        ("user info", format!("https://user:{key}@example.org/v1")),
        ("query", format!("https://example.org/v1?key={key}&n=1")),
        ("Markdown", format!("**`{key}`**")),
        ("inside a word", format!("x{key}y")),
        ("twice", format!("{key}{key}")),
    ];
    for (name, text) in rows {
        add(all, name, text, key);
    }
}

/// Each character, or those that need it, by an escape.
fn escaped(key: &str, all: &mut Vec<Spelling>) {
    let each = |spell: &dyn Fn(u8) -> String| key.bytes().map(spell).collect::<String>();
    let marks = |spell: &dyn Fn(u8) -> String| {
        each(&|byte| {
            if byte.is_ascii_alphanumeric() {
                char::from(byte).to_string()
            } else {
                spell(byte)
            }
        })
    };
    let json = |text: &str| serde_json::Value::from(text).to_string();
    let entity = |byte: u8| match byte {
        b'/' => "&sol;".to_owned(),
        b'+' => "&plus;".to_owned(),
        b'_' => "&lowbar;".to_owned(),
        b'&' => "&amp;".to_owned(),
        b'.' => "&period;".to_owned(),
        b'=' => "&equals;".to_owned(),
        other => char::from(other).to_string(),
    };
    let rows = [
        ("percent", each(&|byte| format!("%{byte:02X}"))),
        ("percent, lower case", each(&|byte| format!("%{byte:02x}"))),
        (
            "percent where needed",
            marks(&|byte| format!("%{byte:02X}")),
        ),
        ("percent twice", marks(&|byte| format!("%25{byte:02X}"))),
        ("percent thrice", marks(&|byte| format!("%2525{byte:02x}"))),
        (
            "escape() of browsers",
            each(&|byte| format!("%u{byte:04X}")),
        ),
        ("JSON with slashes", key.replace('/', "\\/")),
        (
            "JSON, every character",
            each(&|byte| format!("\\u{byte:04x}")),
        ),
        ("JSON, upper case", each(&|byte| format!("\\u{byte:04X}"))),
        ("JSON of web pages", marks(&|byte| format!("\\u{byte:04x}"))),
        (
            "JSON in JSON",
            json(&marks(&|byte| format!("\\u{byte:04x}"))),
        ),
        (
            "JSON in JSON in JSON",
            json(&json(&key.replace('/', "\\/"))),
        ),
        ("braces", each(&|byte| format!("\\u{{{byte:x}}}"))),
        ("Python, wide", each(&|byte| format!("\\U{byte:08x}"))),
        ("C", each(&|byte| format!("\\x{byte:02x}"))),
        ("C, upper case", each(&|byte| format!("\\x{byte:02X}"))),
        ("octal", each(&|byte| format!("\\{byte:03o}"))),
        (
            "backslashes",
            marks(&|byte| format!("\\{}", char::from(byte))),
        ),
        ("HTML, decimal", each(&|byte| format!("&#{byte};"))),
        ("HTML, hexadecimal", each(&|byte| format!("&#x{byte:X};"))),
        ("HTML, named", each(&entity)),
        ("quoted-printable", each(&|byte| format!("={byte:02X}"))),
    ];
    for (name, text) in rows {
        add(all, name, format!("a {text} b"), &text);
    }
}

/// In another alphabet.
fn encoded(key: &str, all: &mut Vec<Spelling>) {
    let wide: Vec<u8> = key.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let hex = |between: &str, bytes: &[u8]| {
        let digits: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        digits.join(between)
    };
    let list = |bytes: Vec<String>| format!("[{}]", bytes.join(", "));
    let decimal = list(key.bytes().map(|byte| byte.to_string()).collect());
    let hexadecimal = list(key.bytes().map(|byte| format!("0x{byte:02x}")).collect());
    let rows = [
        ("hex", hex("", key.as_bytes())),
        ("hex, upper case", hex("", key.as_bytes()).to_uppercase()),
        ("hex with colons", hex(":", key.as_bytes())),
        ("hex with blanks", hex(" ", key.as_bytes())),
        ("hex of UTF-16", hex("", &wide)),
        ("numbers", decimal[1..decimal.len() - 1].to_owned()),
        (
            "hexadecimal numbers",
            hexadecimal[1..hexadecimal.len() - 1].to_owned(),
        ),
        ("backwards", key.chars().rev().collect()),
    ];
    for (name, text) in rows {
        add(all, name, format!("[{text}]"), &text);
    }
    let inner = |text: &str| text[4..text.len() - 4].to_owned();
    for (name, before) in [
        ("base64", ""),
        ("base64 after one byte", "u"),
        ("base64 after two bytes", "u:"),
        ("basic credentials", "user:"),
    ] {
        let text = base64(format!("{before}{key}").as_bytes());
        add(all, name, format!("({text})"), &inner(&text));
    }
    let text = base64(key.as_bytes());
    let bare = text.trim_end_matches('=');
    let url = base64(format!("{{\"key\":\"{key}\"}}").as_bytes());
    let url = url.replace('+', "-").replace('/', "_");
    add(all, "base64 without padding", bare, &inner(&text));
    add(
        all,
        "base64 for URLs",
        url.as_str(),
        &url[12..url.len() - 8],
    );
    let percent = text
        .replace('+', "%2B")
        .replace('/', "%2F")
        .replace('=', "%3D");
    add(
        all,
        "base64 in a URL",
        percent.as_str(),
        &percent[4..percent.len() - 8],
    );
    let powershell = base64(&wide);
    add(
        all,
        "base64 of UTF-16",
        powershell.as_str(),
        &inner(&powershell),
    );
}

/// With something between its characters.
fn split(key: &str, all: &mut Vec<Spelling>) {
    let wrapped = |text: &str, width: usize, end: &str| {
        let lines = text.as_bytes().chunks(width).map(String::from_utf8_lossy);
        lines.collect::<Vec<_>>().join(end)
    };
    let long = base64(format!("{} {key}", "x".repeat(40)).as_bytes());
    let last = |text: &str| text[text.len() - 36..text.len() - 4].to_owned();
    let rows = [
        ("lines", wrapped(key, 20, "\n")),
        ("lines of a shell", wrapped(key, 20, "\\\n")),
        ("lines of YAML", wrapped(key, 12, "\n    ")),
        ("lines in JSON", wrapped(key, 12, "\\n")),
        ("soft lines", wrapped(key, 20, "=\r\n")),
        ("UTF-16 as bytes", wrapped(key, 1, "\0")),
        ("characters of no width", wrapped(key, 1, "\u{200b}")),
    ];
    for (name, text) in rows {
        add(all, name, format!("<{text}>"), &text);
    }
    for (name, text) in [
        ("base64 in lines", wrapped(&long, 76, "\n")),
        ("base64 in network lines", wrapped(&long, 64, "\r\n")),
        ("base64 in lines in JSON", wrapped(&long, 64, "\\n")),
    ] {
        add(all, name, text.as_str(), &last(&text));
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digit = |at: usize| {
            let digit = DIGITS[(bits >> (18 - 6 * at)) as usize & 63];
            if at > group.len() {
                '='
            } else {
                char::from(digit)
            }
        };
        [digit(0), digit(1), digit(2), digit(3)]
    };
    bytes.chunks(3).flat_map(group).collect()
}
