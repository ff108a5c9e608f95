//! The charset of a page.

use samovar_core::Status;
use serde_json::json;

use crate::web::site::{Site, answer};

const HTML: &str = "text/html";

/// The type of a page, its bytes, what is shown of them, and the charset in which they were read.
const PAGES: [(&str, &[u8], &str, &str); 14] = [
    (HTML, b"caf\xc3\xa9", "café", "UTF-8"),
    ("text/html; charset=utf-8", b"caf\xc3\xa9", "café", "UTF-8"),
    (
        "text/html; charset=\"ISO-8859-1\"",
        b"caf\xe9",
        "café",
        "windows-1252",
    ),
    (
        "text/html;Charset = windows-1251",
        b"\xf7\xe0\xe9",
        "чай",
        "windows-1251",
    ),
    ("text/html; charset=GB18030", b"\xb2\xe8", "茶", "gb18030"),
    (
        "text/html; charset=iso-8859-1",
        b"\xef\xbb\xbfcaf\xc3\xa9",
        "café",
        "UTF-8",
    ),
    (
        HTML,
        b"\xff\xfe<\0p\0>\0\x47\x04\x30\x04\x39\x04",
        "чай",
        "UTF-16LE",
    ),
    (
        HTML,
        b"<meta charset=koi8-r><p>\xde\xc1\xca",
        "чай",
        "KOI8-R",
    ),
    (
        HTML,
        b"<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'><p>\x92\x83",
        "茶",
        "Shift_JIS",
    ),
    (
        HTML,
        b"<meta charset=utf-16><p>caf\xc3\xa9",
        "café",
        "UTF-8",
    ),
    (
        "application/xml",
        b"<?xml version='1.0' encoding='iso-8859-2'?><p>\xe8aj",
        "čaj",
        "ISO-8859-2",
    ),
    (
        "text/html; charset=klingon",
        b"caf\xe9 klingon",
        "caf\u{fffd}",
        "UTF-8",
    ),
    (
        "text/html; charset=utf-7",
        b"+ADw-script+AD4-",
        "+ADw-script+AD4-",
        "UTF-8",
    ),
    ("text/html; charset=iso-2022-kr", b"tea", "tea", "UTF-8"),
];

// proves TL-2
#[tokio::test]
async fn a_page_is_read_in_its_charset_and_an_unknown_one_is_told() {
    for (kind, body, shown, charset) in PAGES {
        let site = Site::saying(answer("200 OK", &format!("content-type: {kind}"), body)).await;
        let args = json!({"url": site.url("/")});
        let outcome = site.yard().call("web_fetch", args).await;
        assert_eq!(outcome.status, Status::Done, "{kind}: {}", outcome.text);
        assert!(outcome.text.contains(shown), "{kind}: {}", outcome.text);
        assert_eq!(outcome.data.unwrap()["charset"], charset, "{kind}");
        let unknown = ["klingon", "utf-7", "iso-2022-kr"];
        let is_unknown = unknown.iter().any(|label| kind.ends_with(label));
        let is_told = outcome
            .text
            .contains("which is unknown; it was read as UTF-8");
        assert_eq!(is_told, is_unknown, "{kind}: {}", outcome.text);
    }
}
