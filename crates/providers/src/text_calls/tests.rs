use std::ops::Range;

use proptest::prelude::*;
use samovar_core::{CallId, MessageId, Millis, Outcome, Part, Role, ToolCall, Usage};
use samovar_doubles::talk;
use serde_json::json;

use super::*;
use crate::exchange::transcript::told;

fn tools() -> Arc<[Arc<ToolSpec>]> {
    let of = |name: &str, fields: &[&str], required: &[&str]| {
        let mut tool = (*talk::tool(name)).clone();
        let properties = fields.iter().map(|field| ((*field).to_owned(), json!({})));
        let properties: serde_json::Map<_, _> = properties.collect();
        tool.parameters = json!({"type": "object", "properties": properties, "required": required});
        Arc::new(tool)
    };
    [
        of("read_file", &["path", "offset"], &["path"]),
        of("read", &["path"], &[]),
        of(
            "write_file",
            &["path", "content", "offset"],
            &["path", "content"],
        ),
    ]
    .into()
}

/// The events of an answer that arrives in these pieces.
fn read(pieces: &[&str], finish_reason: &str) -> String {
    read_after(Vec::new(), pieces, finish_reason)
}

/// The same, after a conversation.
fn read_after(shown: Vec<Arc<Message>>, pieces: &[&str], finish_reason: &str) -> String {
    let mut reader = TextCalls::new(tools(), shown);
    let mut events = Vec::new();
    for piece in pieces {
        reader.take(ProviderEvent::TextDelta((*piece).to_owned()), &mut events);
    }
    let end = ProviderEvent::MessageComplete {
        finish_reason: finish_reason.to_owned(),
        usage: Usage::default(),
    };
    reader.take(end, &mut events);
    told(&events)
}

/// Checks the events of an answer, cut at every place and into single characters.
#[track_caller]
fn check(answer: &str, wanted: &str) {
    let end = if wanted.contains("end 0") {
        "tool_calls"
    } else {
        "stop"
    };
    let line = if wanted.is_empty() { "" } else { "\n" };
    let wanted = format!("{wanted}{line}complete {end} 0 0 0 0 0");
    for (at, _) in answer.char_indices() {
        let (one, other) = answer.split_at(at);
        assert_eq!(
            read(&[one, other], "stop"),
            wanted,
            "{one:?} then {other:?}"
        );
    }
    let single: Vec<&str> = answer.split("").filter(|piece| !piece.is_empty()).collect();
    assert_eq!(read(&single, "stop"), wanted, "{answer:?} in characters");
}

/// The lines that tell calls.
fn calls(calls: &[(&str, &str)]) -> String {
    let lines = calls.iter().enumerate().map(|(at, (name, args))| {
        format!("start {at} {name}\nargs {at} {args}\nend {at} {name} {args}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

const A: &str = r#"{"name": "read_file", "arguments": {"path": "a"}}"#;
const B: &str = r#"{"name": "read", "parameters": {}}"#;

const W: &str =
    r#"{"name": "write_file", "arguments": {"path": "x", "content": "}\"]\n```\n<tool_call>\\"}}"#;

/// Answers, the text in each before its calls, and these: of `A`, `B` and `W`.
const FORMS: &[(&str, &str, &str)] = &[
    ("{A}", "", "a"),
    ("\n {A}\n", "", "a"),
    ("{A}\n{B}", "", "ab"),
    ("[{A}, {B}]", "", "ab"),
    ("```json\n{A}\n```", "", "a"),
    ("```\n{A}\n```\n", "", "a"),
    ("``` json\n{A}", "", "a"),
    ("I read it.\n\n```json\n{A}\n```", "I read it.\n\n", "a"),
    ("```json\n{A}\n{B}\n```", "", "ab"),
    ("```json\n{A}\n```\n\n```json\n{B}\n```", "", "ab"),
    (
        "```py\nx = {}\n```\nNow:\n  ```json\n  {A}\n  ```",
        "```py\nx = {}\n```\nNow:\n",
        "a",
    ),
    (
        "```json\n{\"port\": 1}\n```\n```json\n{A}\n```",
        "```json\n{\"port\": 1}\n```\n",
        "a",
    ),
    ("{W}", "", "w"),
    ("<tool_call>\n{A}\n</tool_call>", "", "a"),
    (
        "Sure.\n<tool_call>{A}</tool_call>\n<tool_call>{B}</tool_call><|im_end|>",
        "Sure.\n",
        "ab",
    ),
    ("```xml\n<tool_call>\n{A}\n</tool_call>\n```", "", "a"),
    ("<tools>\n{A}\n</tools>", "", "a"),
    ("<function=read_file>{\"path\": \"a\"}</function>", "", "a"),
    (
        "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
        "",
        "a",
    ),
    (
        "<function=read></function><function=read>{}</function>",
        "",
        "bb",
    ),
    ("<|python_tag|>{A}; {B}<|eom_id|>", "", "ab"),
    ("[TOOL_CALLS] [{A}, {B}]</s>", "", "ab"),
    ("[TOOL_CALLS]read_file{\"path\": \"a\"}", "", "a"),
    (
        "[TOOL_CALLS]read_file[ARGS]{\"path\": \"a\"}[TOOL_CALLS]read[ARGS]{}",
        "",
        "ab",
    ),
    (
        r#"{"type": "function", "function": {"name": "read_file", "arguments": "{\"path\":\"a\"}"}}"#,
        "",
        "a",
    ),
    ("<tool_call>{\"name\": \"read\"}", "", "b"),
    ("```JSON\n{A}\n```", "", "a"),
    ("{{A}}}\n```", "", "a"),
    ("<tool_call>\n{{A}}\n</tool_call>", "", "a"),
];

// proves MD-5
#[test]
fn a_call_in_each_form_of_text_becomes_a_call() {
    let call = |letter| match letter {
        'a' => ("read_file", r#"{"path":"a"}"#),
        'b' => ("read", "{}"),
        _ => (
            "write_file",
            r#"{"path":"x","content":"}\"]\n```\n<tool_call>\\"}"#,
        ),
    };
    for (answer, text, letters) in FORMS {
        let answer = answer.replace("{A}", A).replace("{B}", B).replace("{W}", W);
        let found: Vec<_> = letters.chars().map(call).collect();
        let line = if text.is_empty() {
            String::new()
        } else {
            format!("text {text}\n")
        };
        check(&answer, &format!("{line}{}", calls(&found)));
    }
}

// proves MD-5
#[test]
fn what_only_looks_like_a_call_stays_text() {
    for answer in [
        "",
        "Hello.\n\n",
        "{A} reads it.",
        "Read it so: {A}",
        "First.\n{A}",
        "- Use `read_file`:\n```json\n{A}\n```\n- Then look.",
        "Use `<tool_call>{A}</tool_call>`",
        "<tool_call>{A}</tool_call> is the form.\n",
        "<tool_call>{A}</tool_call>\n<tool_call>{\"name\": \"add\"}</tool_call>",
        "```json\n{A}\n{\"port\": 1}\n```",
        "```python\n{A}\n```",
        "```text\n<tool_call>\n{A}\n</tool_call>\n```",
        "```json\n{A}\n```json",
        "</tool_call>{A}",
        "```json\n{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 2}}\n```",
        "{\"name\": \"read_file\", \"arguments\": {\"file\": \"a\"}}",
        "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\", \"lines\": 2}}",
        "{\"name\": \"read_file\", \"arguments\": {}}",
        "{\"name\": \"read_file\", \"arguments\": [\"a\"]}",
        "{\"name\": \"read\", \"arguments\": {}, \"result\": \"b\"}",
        "{\"type\": \"tool\", \"name\": \"read\"}",
        "{\"name\": 3}",
        "{\"name\": \"read\"}",
        "```json\n{\"name\": \"read\"}\n```",
        "{\"port\": 8080}",
        "{'name': 'read'}",
        "{{name}}",
        "{ {A} is the call }",
        "{",
        "[",
        "[]",
        "[ ] done",
        "[link](a)",
        "[TOOL_CALLS]add{\"a\": 1}",
        "[TOOL_CALLS]",
        "<tool",
        "<tool_call>",
        "<tool_call>{\"name\": \"read_file\", \"argu",
        "<tool_call>{A}</tool",
        "<function=add>{}</function>",
        "<function=read>",
        "<function=read>{}{}</function>",
        "<function=read_file><parameter=path>a</function>",
        "<html>\n</html>\n",
        "``",
        "```",
        "```\n```",
        "``` is a fence, {A}",
    ] {
        let answer = answer.replace("{A}", A);
        let line = if answer.is_empty() {
            String::new()
        } else {
            format!("text {answer}")
        };
        check(&answer, &line);
    }
}

// proves MD-5
#[test]
fn a_cut_or_refused_answer_and_one_that_is_too_long_have_no_calls() {
    for reason in [
        "length",
        "max_tokens",
        "max_output_tokens",
        "content_filter",
        "refusal",
    ] {
        assert_eq!(
            read(&[A], reason),
            format!("text {A}\ncomplete {reason} 0 0 0 0 0")
        );
    }
    let blank = " ".repeat(600);
    for (answer, is_call) in [
        (format!("{blank}{A}{blank}"), true),
        (format!("```json{blank}\n{A}"), false),
        (format!("<tool_call>{blank}{A}"), true),
    ] {
        assert_eq!(
            read(&[&answer], "stop").contains("start 0"),
            is_call,
            "{answer:?}"
        );
    }
    for (bytes, is_call) in [(60_000, true), (70_000, false)] {
        let answer = A.replace("\"a\"", &format!("\"{}\"", "é".repeat(bytes / 2)));
        assert_eq!(
            read(&[&answer], "stop").starts_with("start 0"),
            is_call,
            "{bytes}"
        );
        let told = read(&[&answer, "\n```json\n", A, "\n```"], "stop");
        assert_eq!(
            told.contains("start 0 read_file\nargs 0 {\"path\":\"a\"}"),
            !is_call
        );
    }
}

// proves MD-5
#[test]
fn text_is_told_as_soon_as_it_is_no_call() {
    let mut reader = TextCalls::new(tools(), Vec::new());
    for (piece, shown) in [
        ("I see.\n<", "text I see.\n"),
        ("b", "text <b"),
        (">\n``", "text >\n"),
        ("`", ""),
        ("python\n", "text ```python\n"),
        (r#"{"name""#, r#"text {"name""#),
        ("\n```\n", "text \n```\n"),
        ("```json\n{\"a", ""),
        ("\":", "text ```json\n{\"a\":"),
        (" 1}\n```\n", "text  1}\n```\n"),
        ("```json\n{\"name\": \"samovar", ""),
        ("\", ", "text ```json\n{\"name\": \"samovar\", "),
        ("\n```\n", "text \n```\n"),
        (
            "```json\n[{\"id\": 1, \"name\": \"read\", \"type\": {\"a\": 1}, \"si",
            "",
        ),
        (
            "ze\"",
            "text ```json\n[{\"id\": 1, \"name\": \"read\", \"type\": {\"a\": 1}, \"size\"",
        ),
    ] {
        let mut events = Vec::new();
        reader.take(ProviderEvent::TextDelta(piece.to_owned()), &mut events);
        assert_eq!(told(&events), shown, "{piece:?}");
    }
}

// proves MD-5
#[test]
fn a_real_call_or_a_failure_makes_text_of_what_looks_like_one_and_the_end_of_a_thought_does_not() {
    let text = || ProviderEvent::TextDelta(A.to_owned());
    let start = ProviderEvent::ToolCallStart {
        id: "c1".to_owned(),
        name: "read".to_owned(),
    };
    let thought = ProviderEvent::ReasoningDelta("hm".to_owned());
    let sealed = ProviderEvent::ReasoningEnd {
        provider_state: Some(json!("s")),
    };
    let failed = ProviderEvent::Failed {
        code: samovar_core::error::FaultCode::StreamCut,
        message: String::new(),
        retry_after: None,
        context: samovar_core::provider::ContextNumbers::default(),
        is_final: false,
    };
    for (given, wanted) in [
        (
            vec![text(), start.clone(), text()],
            vec![text(), start.clone(), text()],
        ),
        (vec![text(), thought.clone()], vec![text(), thought]),
        (vec![text(), failed.clone()], vec![text(), failed]),
        (vec![text(), sealed.clone()], vec![sealed]),
    ] {
        let mut reader = TextCalls::new(tools(), Vec::new());
        let mut events = Vec::new();
        for event in given {
            reader.take(event, &mut events);
        }
        assert_eq!(events, wanted);
    }
}

// proves MD-5
#[test]
fn a_call_that_the_model_was_shown_is_a_quotation() {
    let long = "{\n  \"name\": \"write_file\",\n  \"arguments\": {\n    \"path\": \"x\",\n    \"content\": \"one two three\\nfour five six\",\n    \"offset\": \"seven eight nine ten eleven twelve\"\n  }\n}";
    let numbered = |before: fn(usize) -> String| {
        let lines = long.lines().enumerate();
        let lines = lines.map(|(at, line)| before(at + 8) + line);
        lines.collect::<Vec<_>>().join("\n")
    };
    let half = |text: &str, lines: Range<usize>| {
        let taken = text.lines().skip(lines.start).take(lines.len());
        taken.collect::<Vec<_>>().join("\n")
    };
    let result = |text: &str| {
        let call = CallId::new("c").unwrap();
        let outcome = Outcome::done(text);
        Message::of_outcome(&call, "read_file", &outcome, Millis(0))
    };
    let of = |role, part| {
        let id = MessageId::new("m").unwrap();
        Message::new(id, role, vec![part], Millis(0))
    };
    let (pages, matches) = (
        numbered(|at| format!("{at:6}\t")),
        numbered(|at| format!("src/a.rs:{at}: ")),
    );
    let written = ToolCall::new(
        CallId::new("c").unwrap(),
        "write_file",
        json!({"path": "calls.txt", "content": long}),
    );
    // The same call but for one argument, as after a failure.
    let args = |path: &str| json!({"path": path, "content": "one two three four five six seven eight nine ten eleven"});
    let mended = ToolCall::new(CallId::new("c").unwrap(), "write_file", args("y"));
    let mends = format!("[TOOL_CALLS]write_file{}", args("x"));
    let function = "<function=read></function>";
    for (shown, call, is_quoted) in [
        (result(&pages), long, true),
        (result(&pages), W, false),
        (result(&half(&pages, 0..5)), long, true),
        (result(&half(&pages, 4..8)), long, true),
        (result(&half(&pages, 0..3)), long, false),
        (result(&matches), long, true),
        (result(&json!({"text": long}).to_string()), long, true),
        (result(function), function, true),
        (result("read read_file a"), A, false),
        (result("call read"), "[TOOL_CALLS]read{}", false),
        (of(Role::User, Part::text(A)), A, true),
        (of(Role::User, Part::text("read_file path a")), A, false),
        (of(Role::Assistant, Part::text(A)), A, false),
        (of(Role::Assistant, Part::Call(written)), long, true),
        (of(Role::Assistant, Part::Call(mended)), &mends, false),
    ] {
        let answer = format!("The file says:\n\n```json\n{call}\n```");
        let told = read_after(vec![Arc::new(shown.clone())], &[&answer], "stop");
        assert_eq!(!told.contains("start 0"), is_quoted, "{call} in {shown:?}");
        let two = format!("{A}\n{call}");
        let told = read_after(vec![Arc::new(shown)], &[&two], "stop");
        assert_eq!(!told.contains("start 0"), is_quoted, "{two}");
    }
}

// proves MD-5
#[test]
fn thoughts_in_marks_at_the_beginning_become_reasoning() {
    let a = calls(&[("read_file", r#"{"path":"a"}"#)]);
    for (answer, wanted) in [
        (
            "<think>a <b </thi</think>\n\nYes.\n",
            "think a <b </thi\nthought\ntext Yes.\n",
        ),
        (
            "\n<think>\nhm\n</think>{A}",
            "think \nhm\n\nthought\n{calls}",
        ),
        ("<think>\n\n</think>\n\nYes.", "text Yes."),
        ("<think>on and <", "think on and <\nthought"),
        (
            "<think>a</think><think>b</think>",
            "think a\nthought\ntext <think>b</think>",
        ),
        ("So <think>a</think>", "text So <think>a</think>"),
        ("<thinking>a", "text <thinking>a"),
    ] {
        check(&answer.replace("{A}", A), &wanted.replace("{calls}", &a));
    }
}

proptest! {
    // proves MD-5
    #[test]
    fn the_pieces_of_an_answer_make_no_difference_and_nothing_is_lost(
        words in prop::collection::vec(prop::sample::select(vec![
            A, B, "\n", " ", "```", "json", "<tool_call>", "</tool_call>", "{", "}", "[", "]", "\"",
            "<function=read>", "</function>", "[TOOL_CALLS]", "word", "é",
        ]), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let answer = words.concat();
        let whole = read(&[&answer], "stop");
        let mut cuts: Vec<_> = cuts.iter().map(|cut| answer.floor_char_boundary(cut.index(answer.len() + 1))).collect();
        cuts.extend([0, answer.len()]);
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2).map(|cut| &answer[cut[0]..cut[1]]).collect();
        prop_assert_eq!(read(&pieces, "stop"), whole.clone());
        if !whole.contains("complete tool_calls") && !answer.is_empty() {
            prop_assert_eq!(whole, format!("text {answer}\ncomplete stop 0 0 0 0 0"));
        }
    }
}
