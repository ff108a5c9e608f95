use std::borrow::Cow;

use super::*;

const KEY: &str = "sk-Zq7/w+8_xR2yTn5VbL0e.d4K";

fn knows(keys: &[(&str, &str)]) -> Redactor {
    let with =
        |known: Redactor, (name, key): &(&str, &str)| known.with(name, &Secret::new(key).unwrap());
    keys.iter().fold(Redactor::default(), with)
}

#[test]
fn a_key_is_never_printed() {
    let key = Secret::new(" sk-live-123\n").unwrap();
    assert_eq!(key.expose(), "sk-live-123");
    assert_eq!(
        format!("{key:?} {:#?}", Some(&key)),
        "*** Some(\n    ***,\n)"
    );
    assert_eq!(Secret::new(" \n"), None);
}

// proves TL-14
#[test]
fn only_keys_that_mean_nothing_else_are_replaced() {
    let none = knows(&[("A", "short-7"), ("B", "lm-studio"), ("C", "not-needed")]);
    assert!(none.is_empty());
    for text in ["", "short-7 and lm-studio", KEY] {
        assert!(matches!(none.redact(text), Cow::Borrowed(same) if same == text));
    }
    let one = knows(&[("A", "8-bytes!")]);
    assert_eq!(one.redact("8-bytes, 8-bytes!"), "8-bytes, [redacted: A]");
    for text in ["", "8-byte", "s8-bytes?", "%", "a\\", "&#", "=", "日本語"] {
        assert!(
            matches!(one.redact(text), Cow::Borrowed(same) if same == text),
            "{text}"
        );
    }
}

#[test]
fn of_two_keys_that_begin_alike_the_longer_is_replaced_whole() {
    let both = knows(&[("A", "abcdefgh"), ("B", "abcdefgh-ijk")]);
    assert_eq!(
        both.redact("abcdefgh-ijk abcdefgh-ij"),
        "[redacted: B] [redacted: A]-ij"
    );
    let mut tail = Tail::default();
    let shown = |tail: &mut Tail, piece: &str| tail.push(&both, piece.to_owned());
    assert_eq!(shown(&mut tail, "x abcdefgh"), "x ");
    assert_eq!(shown(&mut tail, "-ijk y"), "[redacted: B] y");
    assert_eq!(shown(&mut tail, "abcdefgh"), "");
    assert_eq!(tail.end(&both), "[redacted: A]");
}

#[test]
fn a_tail_holds_back_no_more_than_the_beginning_of_a_key() {
    let redactor = knows(&[("A", KEY)]);
    let mut tail = Tail::default();
    let mut said = String::new();
    for piece in [
        "Yes, it is so",
        "",
        "me ",
        "sk-Zq",
        " or sk-Zq7/w",
        "+8 and s",
    ] {
        said += &tail.push(&redactor, piece.to_owned());
    }
    assert_eq!(said, "Yes, it is some sk-Zq or sk-Zq7/w+8 and s");
    assert_eq!(tail.end(&redactor), "");
}

#[test]
fn values_are_redacted_at_every_depth_and_in_their_names() {
    let mut value = serde_json::json!({"a": [KEY, 1, {"b": format!("x{KEY}")}], KEY: null});
    knows(&[("K", KEY)]).redact_value(&mut value);
    let wanted = serde_json::json!({
        "a": ["[redacted: K]", 1, {"b": "x[redacted: K]"}], "[redacted: K]": null
    });
    assert_eq!(value, wanted);
}

#[test]
fn a_mark_of_ours_is_known_and_one_of_another_is_not() {
    let redactor = knows(&[("OPENAI_API_KEY", KEY)]);
    assert_eq!(
        redactor.mark_in("K=[redacted: OPENAI_API_KEY]"),
        Some("[redacted: OPENAI_API_KEY]")
    );
    assert_eq!(redactor.mark_in("K=[redacted: OTHER] [redacted]"), None);
}

#[test]
fn hostile_text_is_read_to_its_end() {
    let key = format!("{}b", "a".repeat(64));
    let redactor = knows(&[("K", &key)]);
    for unit in [
        "a",
        "%",
        "\\",
        "%25",
        "&#97;",
        "\n",
        "\\\\n",
        "=\n",
        "a\u{200b}",
    ] {
        let text = unit.repeat(2_000);
        assert!(
            matches!(redactor.redact(&text), Cow::Borrowed(_)),
            "{unit:?}"
        );
    }
}

#[test]
fn the_process_adds_keys_and_logs_hide_those_of_others_too() {
    protect("K", &Secret::new(KEY).unwrap());
    protect("L", &Secret::new("another-key-1").unwrap());
    assert_eq!(
        own().redact(&format!("{KEY} another-key-1")),
        "[redacted: K] [redacted: L]"
    );
    let text = format!("{KEY} ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z");
    assert_eq!(for_logs(&text), "[redacted: K] [redacted: GitHub token]");
}
