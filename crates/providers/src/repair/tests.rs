use serde_json::json;

use super::*;

// proves MD-3
#[test]
fn what_can_be_meant_in_one_way_is_mended_and_nothing_is_added() {
    for (broken, wanted) in [
        (r#"{"a":NaN}"#, Some(r#"{"a":null}"#)),
        ("[-Infinity,Infinity,-1]", Some("[null,null,-1]")),
        ("{\"a\":\"b\tc\nd\"}", Some(r#"{"a":"b\u0009c\u000ad"}"#)),
        (r#"{"a":"NaN \"NaN\" \\"}"#, None),
        (r#"{"a":"\ud83d\ude00"}"#, None),
        (r#"{"a":"#, None),
        ("", None),
    ] {
        assert_eq!(mended(broken).as_deref(), wanted, "{broken}");
    }
}

#[test]
fn halves_of_a_character_are_joined_across_texts_and_lonely_ones_are_replaced() {
    let read = |json: &str| -> String {
        serde_json::from_str(&mended(json).unwrap_or_else(|| json.to_owned())).unwrap()
    };
    let (high, low) = (read(r#""a\ud83d""#), read(r#""\ude00b""#));
    let mut halves = Halves::default();
    assert_eq!(halves.join(high.clone()), "a");
    assert_eq!(halves.join(low.clone()), "😀b");
    assert_eq!(halves.join(low), "\u{fffd}b");
    assert_eq!(halves.join(high.clone() + &high), "a\u{fffd}a");
    assert_eq!(halves.join("c".to_owned()), "\u{fffd}c");
}

#[test]
fn documents_are_told_apart() {
    let all = |text: &str| documents(text).map_err(|error| error.is_eof());
    let two = || Ok(vec!["{}".to_owned(), r#"{"a":1}"#.to_owned()]);
    assert_eq!(all("{}\n{\"a\":1}\n"), two());
    assert_eq!(all(r#"[{},{"a":1}]"#), two());
    assert_eq!(all(r#"{"a":NaN}"#), Ok(vec![r#"{"a":null}"#.to_owned()]));
    assert_eq!(all(r#"{"a":1"#), Err(true));
    assert_eq!(all("{x}"), Err(false));
}

#[test]
fn arguments_are_read_however_they_are_packed() {
    for (raw, wanted) in [
        (r#"{"n":1}"#, json!({"n": 1})),
        (r#""{\"n\":1}""#, json!({"n": 1})),
        (r#"{}{"n":1}"#, json!({"n": 1})),
        (r#"{"n":1}{"n":1}"#, json!({"n": 1})),
        ("{\"n\":\"a\nb\"}", json!({"n": "a\nb"})),
        ("null", json!({})),
        (" ", json!({})),
        (r#"{"n":1}{"n":2}"#, json!(r#"{"n":1}{"n":2}"#)),
        (r#"{"n":"#, json!(r#"{"n":"#)),
        ("7", json!("7")),
    ] {
        assert_eq!(args(raw), wanted, "{raw}");
    }
}
