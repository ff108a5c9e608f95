//! The chat's spelling, as tables.

use samovar_core::{ChatMessage as Said, ChatMeta as With, Code};
use serde_json::{Value, json};

use super::*;

fn said(text: &str, meta: With) -> Said {
    Said {
        id: 7,
        ts: Millis(1_795_341_600_042),
        role: ChatRole::Agent,
        author: "master".to_owned(),
        text: text.to_owned(),
        meta,
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = b"before|".to_vec();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

// proves CH-2
#[test]
fn a_message_has_its_six_fields_and_what_goes_with_it_only_when_there_is_something() {
    let tags = vec!["a".to_owned(), "b c".to_owned()];
    let none = With::default;
    let with = |reply_to, tags: &[String]| With {
        reply_to,
        tags: tags.to_vec(),
    };
    for (meta, expected) in [
        (none(), ""),
        (with(Some(3), &[]), r#","meta":{"reply_to":3}"#),
        (with(None, &tags), r#","meta":{"tags":["a","b c"]}"#),
        (
            with(Some(3), &tags),
            r#","meta":{"reply_to":3,"tags":["a","b c"]}"#,
        ),
    ] {
        let message = said("Ready.", meta);
        let expected = format!(
            r#"{{"id":7,"ts":"2026-11-22T10:00:00.042Z","role":"agent","author":"master","text":"Ready."{expected}}}"#
        );
        assert_eq!(Item::Message(Arc::new(message.clone())).text(), expected);
        assert_eq!(
            written(|out| json(&message, out)),
            format!("before|{expected}")
        );
        let frame = written(|out| frame(&message, out));
        assert_eq!(frame, format!("before|data: {expected}\nid: 7\n\n"));
        let read: Streamed<'_> = serde_json::from_str(&expected).unwrap();
        assert_eq!(read, Streamed::Message(ChatMessage::from(&message)));
    }
}

// proves CH-2
#[test]
fn times_are_rfc_3339_with_milliseconds() {
    for (millis, expected) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (951_827_696_789, "2000-02-29T12:34:56.789Z"),
        (253_402_207_199_999, "9999-12-30T21:59:59.999Z"),
        (i64::MAX, "1970-01-01T00:00:00.000Z"),
        (i64::MIN, "1970-01-01T00:00:00.000Z"),
    ] {
        assert_eq!(timestamp(Millis(millis)), expected, "{millis}");
    }
}

// proves CH-7
#[test]
fn no_text_can_break_the_frame_that_it_stands_in() {
    let bad = "a\nb\r\n\r\nid: 9\nevent: restarted\ndata: {}\n\n\u{0}\u{2028}\"\\";
    let message = said(bad, With::default());

    let frame = written(|out| frame(&message, out));

    let data = frame.strip_prefix("before|data: ").unwrap();
    let data = data.strip_suffix("\nid: 7\n\n").unwrap();
    assert!(!data.contains(['\n', '\r']), "{data:?}");
    assert_eq!(serde_json::from_str::<Value>(data).unwrap()["text"], bad);
}

// proves CH-8
#[test]
fn markers_have_a_name_and_no_id() {
    for (marker, name, data) in [
        (
            Marker::Truncated(Truncated { after: 3, first: 9 }),
            "truncated",
            r#"{"after":3,"first":9}"#,
        ),
        (
            Marker::Restarted(Restarted {
                boot_id: "b".to_owned(),
            }),
            "restarted",
            r#"{"boot_id":"b"}"#,
        ),
    ] {
        let frame = written(|out| marker_frame(&marker, out));
        assert_eq!(frame, format!("before|data: {data}\nevent: {name}\n\n"));
        let text = Item::Marker(marker.clone()).text();
        assert_eq!(text, format!(r#"{{"{name}":{data}}}"#));
        let read: Streamed<'_> = serde_json::from_str(&text).unwrap();
        assert_eq!(read, Streamed::Marker(marker));
    }
}

// proves CH-4
#[test]
fn the_state_names_the_question_or_says_that_there_is_none() {
    let pending = samovar_core::PendingInput {
        requested_by: "master".to_owned(),
        question: 4,
    };
    let state = |pending: Option<samovar_core::PendingInput>| ChatStateInfo {
        pending_input: pending,
        waiting: 2,
        boot_id: "b".to_owned(),
    };
    let expected = json!({
        "pending_input": {"requested_by": "master", "question_msg_id": 4},
        "waiting": 2,
        "boot_id": "b",
    });
    assert_eq!(json!(state(Some(pending))), expected);
    let none = json!({"pending_input": null, "waiting": 2, "boot_id": "b"});
    assert_eq!(json!(state(None)), none);
}

/// What is no id, however it is sent.
const NO_IDS: [&str; 20] = [
    "",
    " ",
    "-1",
    "-0",
    "+1",
    " 1",
    "1 ",
    "\t1",
    "1\n",
    "01",
    "1.0",
    "1e3",
    "0x1",
    "1_000",
    "18446744073709551616",
    "99999999999999999999999999",
    "x",
    "null",
    "true",
    "\u{661}",
];

// proves CH-5
#[test]
fn an_after_that_is_no_id_is_refused_by_its_name() {
    let history = |after: &str| {
        let pairs = vec![("after".to_owned(), after.to_owned())];
        params::from_query::<HistoryParams>(pairs)
    };
    for good in [0, 1, 42, u64::MAX] {
        assert_eq!(history(&good.to_string()).unwrap().after, Some(good));
    }
    assert_eq!(history("").unwrap().after, None);
    for bad in NO_IDS.into_iter().filter(|bad| !bad.is_empty()) {
        let refused = history(bad).unwrap_err();
        assert_eq!(refused.code, Code::InvalidParams, "{bad:?}");
        let details = Some(json!({"parameter": "after"}));
        assert_eq!(refused.details, details, "{bad:?}");
    }
}

// proves CH-7
#[test]
fn a_stream_goes_on_where_the_header_says_and_else_where_the_parameter_does() {
    let params = |after| StreamParams { after, boot: None };
    for (header, after, expected) in [
        (None, None, None),
        (None, Some(5), Some(5)),
        (Some("9"), Some(5), Some(9)),
        (Some("0"), None, Some(0)),
        // A reader that has read nothing says so with an empty header.
        (Some(""), Some(5), Some(5)),
    ] {
        assert_eq!(params(after).position(header).unwrap(), expected);
    }
    for bad in NO_IDS.into_iter().filter(|bad| !bad.is_empty()) {
        let refused = params(Some(5)).position(Some(bad)).unwrap_err();
        assert_eq!(refused.code, Code::InvalidParams, "{bad:?}");
        let details = Some(json!({"parameter": "Last-Event-ID"}));
        assert_eq!(refused.details, details, "{bad:?}");
    }
}

// proves CH-5
#[test]
fn a_limit_lies_between_1_and_1000() {
    let limit = |limit: &str| {
        let pairs = vec![("limit".to_owned(), limit.to_owned())];
        params::from_query::<HistoryParams>(pairs).map(|params| params.limit.map(Within::get))
    };
    assert_eq!(limit("1"), Ok(Some(1)));
    assert_eq!(limit("1000"), Ok(Some(1000)));
    for bad in ["0", "1001", "-1", "x", "", " 5", "5 ", "1.5", "4294967297"] {
        let refused = limit(bad).unwrap_err();
        assert_eq!(refused.code, Code::InvalidParams, "{bad:?}");
        assert_eq!(refused.details, Some(json!({"parameter": "limit"})));
    }
}
