use samovar_core::relay::RelayCode;
use serde_json::json;

use super::*;

fn malformed(message: impl AsRef<[u8]>, reply_to: Option<&str>, why: &str) {
    let message = message.as_ref();
    let shown = String::from_utf8_lossy(message).into_owned();
    let malformed = decode(message).expect_err(&shown);
    assert_eq!(malformed.reply_to.as_deref(), reply_to, "{shown}");
    assert!(malformed.why.contains(why), "{shown}: {}", malformed.why);
    assert!(malformed.why.len() < 300, "{}", malformed.why);
}

fn understood(message: &str) -> Envelope {
    decode(message.as_bytes()).unwrap_or_else(|why| panic!("{message}: {why:?}"))
}

fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

// proves RL-1
#[test]
fn every_kind_of_message_is_read_as_it_was_written() {
    for kind in MessageKind::ALL {
        let mut payload = Payload::new();
        payload.insert("z".to_owned(), json!([1, {"a": null}]));
        payload.insert("a".to_owned(), json!("\u{202e}\0\"\n"));
        let envelope = Envelope {
            kind,
            id: Some("req-1".to_owned()),
            reply_to: Some(String::new()),
            payload,
        };
        assert_eq!(understood(&encode(&envelope)), envelope);
    }
    let error = Envelope::error(
        RelayCode::InvalidParams,
        "setQuantity requires quantity >= 0",
    );
    assert_eq!(
        encode(&error.replying_to(Some("req-003".to_owned()))),
        concat!(
            r#"{"v":"mvp-0.2","type":"error","replyTo":"req-003","payload":"#,
            r#"{"code":"INVALID_PARAMS","message":"setQuantity requires quantity >= 0"}}"#
        )
    );
}

// proves RL-1
#[test]
fn what_may_be_missing_may_be_missing_and_unknown_keys_of_the_payload_stay_in_their_order() {
    let bare = understood(r#"{"type":"snapshot.get"}"#);
    assert_eq!(
        bare,
        Envelope::new(MessageKind::SnapshotGet, Payload::new())
    );

    let full = understood(
        r#" {"x":{"y":1},"payload":{"zeta":1,"toolName":"select","alpha":{"b":2,"a":1}},
             "type":"tool.call","replyTo":"r","id":"","v":"mvp-0.2"} "#,
    );
    assert_eq!(
        (full.id.as_deref(), full.reply_to.as_deref()),
        (Some(""), Some("r"))
    );
    let kept = serde_json::to_string(&full.payload).unwrap();
    assert_eq!(
        kept,
        r#"{"zeta":1,"toolName":"select","alpha":{"b":2,"a":1}}"#
    );
}

// proves RL-1
#[test]
fn whatever_is_no_envelope_is_told_why_under_its_id_when_it_has_one() {
    for nothing in [
        "",
        " ",
        "{",
        "{}x",
        "nonsense",
        "{\"type\":\"snapshot.get\",}",
        "\u{feff}{}",
    ] {
        malformed(nothing, None, "not JSON");
    }
    malformed(b"{\"type\":\"\xff\"}", None, "not JSON");
    malformed(b"\x00\x01\x02", None, "not JSON");
    malformed(r#"{"type":"\ud800"}"#, None, "not JSON");
    malformed(r#"{"id":"a","payload":{"n":1e999}}"#, None, "not JSON");
    for other in [
        "null",
        "true",
        "1",
        "\"tool.call\"",
        "[]",
        r#"[{"type":"snapshot.get"}]"#,
    ] {
        malformed(other, None, "object");
    }
    for (version, shown) in [
        (r#""mvp-0.1""#, r#""mvp-0.1""#),
        (r#""MVP-0.2""#, r#""MVP-0.2""#),
        (r#""mvp-0.2 ""#, r#""mvp-0.2 ""#),
        (r#""""#, r#""""#),
        ("0.2", "0.2"),
        ("null", "null"),
        ("{}", "{}"),
    ] {
        let message = format!(r#"{{"v":{version},"type":"snapshot.get","id":"a"}}"#);
        malformed(message, Some("a"), &format!("`v` is {shown}"));
    }
}

// proves RL-1
#[test]
fn a_part_of_an_envelope_that_is_none_is_named() {
    malformed(r#"{"id":"a"}"#, Some("a"), "`type` is missing");
    for kind in ["null", "1", "[\"tool.call\"]", "{}", "true"] {
        malformed(
            format!(r#"{{"type":{kind},"id":"a"}}"#),
            Some("a"),
            "`type` must be",
        );
    }
    for kind in [
        "",
        "Tool.Call",
        "tool.call ",
        "tool_call",
        "session",
        "ping",
    ] {
        let named = format!("{kind:?}");
        malformed(format!(r#"{{"type":{named},"id":"a"}}"#), Some("a"), &named);
    }
    for payload in ["null", "[]", "\"{}\"", "1", "false"] {
        let message = format!(r#"{{"type":"tool.call","id":"a","payload":{payload}}}"#);
        malformed(message, Some("a"), &format!("not {payload}"));
    }
    for id in ["1", "null", "[]", "{}", "true"] {
        malformed(
            format!(r#"{{"type":"tool.call","id":{id}}}"#),
            None,
            "`id` must be",
        );
        let message = format!(r#"{{"type":"tool.result","id":"a","replyTo":{id}}}"#);
        malformed(message, Some("a"), "`replyTo` must be");
    }
}

// proves RL-1
#[test]
fn ids_depth_and_what_a_refusal_repeats_have_bounds() {
    let longest = "ä".repeat(MAX_ID_BYTES / 2);
    let fits = format!(r#"{{"type":"tool.result","id":"{longest}","replyTo":"{longest}"}}"#);
    assert_eq!(understood(&fits).id, Some(longest.clone()));
    malformed(
        format!(r#"{{"type":"tool.call","id":"{longest}x"}}"#),
        None,
        "longer than 256",
    );
    let message = format!(r#"{{"type":"tool.result","id":"a","replyTo":"{longest}x"}}"#);
    malformed(message, Some("a"), "`replyTo` is longer than 256");

    let deep = |levels| {
        format!(
            r#"{{"type":"tool.call","id":"a","payload":{{"x":{}}}}}"#,
            nested(levels)
        )
    };
    understood(&deep(MAX_DEPTH - 2));
    malformed(deep(MAX_DEPTH - 1), Some("a"), "deeper than 64");
    // Too deep to be read at all.
    malformed(deep(500), None, "deeper than 64");
    malformed(nested(100_000), None, "deeper than 64");
    // The reader of JSON would take this as a spelling of the value in the text.
    let hidden = nested(100);
    let message = format!(
        r#"{{"type":"tool.call","id":"a","payload":{{"x":{{"$serde_json::private::RawValue":"{hidden}"}}}}}}"#
    );
    malformed(
        message,
        None,
        "`$serde_json::private::RawValue` is a reserved key",
    );

    let long = "é".repeat(100_000);
    malformed(format!(r#"{{"type":"{long}","id":"a"}}"#), Some("a"), "…");
    malformed(format!("[\"{long}\"]"), None, "…");
}

// proves RL-12
#[test]
fn a_refusal_shows_nothing_that_stands_inside_of_something() {
    let hidden = r#"{"backendData":"SECRET"}"#;
    for (message, why) in [
        (
            format!(r#"{{"type":"state.updated","payload":[{hidden}]}}"#),
            "not […]",
        ),
        (format!(r#"{{"type":{hidden}}}"#), "not {…}"),
        (format!(r#"{{"type":"error","id":{hidden}}}"#), "not {…}"),
        (
            format!(r#"{{"type":"error","replyTo":[[{hidden}]]}}"#),
            "not […]",
        ),
        (format!(r#"{{"type":"error","v":{hidden}}}"#), "`v` is {…}"),
        (format!("[{hidden}]"), "not […]"),
    ] {
        malformed(&message, None, why);
        let refused = decode(message.as_bytes()).unwrap_err();
        assert!(!refused.why.contains("SECRET"), "{}", refused.why);
    }
}

#[test]
fn the_last_of_keys_that_are_there_twice_counts() {
    let twice = understood(r#"{"type":"tool.call","type":"snapshot.get","id":"a","id":"b"}"#);
    assert_eq!(
        (twice.kind, twice.id.as_deref()),
        (MessageKind::SnapshotGet, Some("b"))
    );
}
