//! Reading an export, whole, cut and changed.

use std::sync::Arc;

use samovar_core::history::{MessageRow, Opened};
use samovar_core::{
    AgentPath, CallId, Code, Message, MessageId, Millis, Outcome, Part, Role, Seq, SessionCopy,
    SessionId, ToolCall, Usage,
};
use samovar_wire::export::{lines, read};
use serde_json::{Map, json};

fn session(name: &str) -> SessionCopy {
    let id = SessionId::new(name).expect("an id");
    let opened = Opened {
        model: "demo".to_owned(),
        route: None,
        agent: "master".to_owned(),
        system_prompt: None,
        approval: None,
        metadata: Map::from_iter([("title".to_owned(), "a \"title\",\"sum\":\"".into())]),
        at: Millis(5),
    };
    let call = CallId::new("c").expect("an id");
    let asks = Part::Call(ToolCall::new(call.clone(), "look", json!({"at": 1})));
    let mut answer = Message::new(id_of("b"), Role::Assistant, vec![asks], Millis(7));
    answer.usage = Some(Usage {
        input: 3,
        output: 1,
        ..Usage::default()
    });
    let said = Message::new(
        id_of("a"),
        Role::User,
        vec![Part::text("hi\nthere")],
        Millis(6),
    );
    let result = Message::of_outcome(&call, "look", &Outcome::done("seen"), Millis(8));
    let rows = [said, answer, result].map(|message| MessageRow {
        session: id.clone(),
        turn: None,
        agent: AgentPath::read("master"),
        has_begun: true,
        message: Arc::new(message),
    });
    SessionCopy {
        session: opened.into_row(id, Seq(0)),
        messages: rows.to_vec(),
    }
}

fn id_of(name: &str) -> MessageId {
    MessageId::new(name).expect("an id")
}

fn file(names: &[&str]) -> String {
    names.iter().flat_map(|name| lines(session(name))).collect()
}

// proves AS-29
#[test]
fn a_file_brings_back_what_was_exported_and_files_may_be_joined() {
    let read = read(file(&["one", "two"]).as_bytes()).unwrap();
    assert_eq!(read.broken_at, None);
    for (found, name) in read.sessions.iter().zip(["one", "two"]) {
        let wanted = session(name);
        assert_eq!(found.messages, wanted.messages);
        assert_eq!(found.session.metadata, wanted.session.metadata);
        assert!(found.session.tainted);
    }
}

// proves AS-29
#[test]
fn a_cut_or_changed_file_is_read_to_its_last_whole_message() {
    let whole = file(&["one"]);
    let head = whole.find('\n').unwrap() + 1;
    for cut in head..whole.len() - 1 {
        let read = read(&whole.as_bytes()[..cut]).unwrap();
        let count = whole[..cut].matches('\n').count() as u64;
        // A last line without its end is whole, too.
        let is_whole = u64::from(whole.as_bytes()[cut] == b'\n');
        let messages: usize = read.sessions.iter().map(|one| one.messages.len()).sum();
        assert_eq!(
            messages as u64,
            (count + is_whole).saturating_sub(2).min(3),
            "{cut}"
        );
        let is_end = count + is_whole == 6;
        let is_nothing = count + is_whole == 1 && whole.as_bytes()[cut - 1] == b'\n';
        assert_eq!(
            read.broken_at.is_none(),
            is_end || is_nothing,
            "{cut}: {:?}",
            read.broken_at
        );
    }
    for at in (head..whole.len() - 1).filter(|at| whole.as_bytes()[*at] != b'\n') {
        let mut changed = whole.clone().into_bytes();
        changed[at] ^= 1;
        let read = read(&changed).unwrap();
        let line = whole[..at].matches('\n').count() as u64 + 1;
        assert_eq!(read.broken_at, Some(line), "{at}");
    }
    let mut lines: Vec<_> = whole.lines().collect();
    lines.remove(3);
    let read = read(lines.join("\n").as_bytes()).unwrap();
    assert_eq!(read.broken_at, Some(4), "a line is missing");
}

// proves AS-29
#[test]
fn what_is_no_export_or_newer_is_refused_whole() {
    let newer = r#"{"schema":"samovar.export","version":2,"sum":"0"}"#;
    let other = r#"{"schema":"other","version":1,"sum":"0"}"#;
    let headless = file(&["one"]);
    let headless = headless.split_once('\n').unwrap().1.to_owned();
    let gzip = "\u{1f}\u{8b}\u{8}\u{0}".to_owned();
    for text in [
        newer.to_owned(),
        other.to_owned(),
        headless,
        gzip,
        String::new(),
        "\n".to_owned(),
    ] {
        assert_eq!(
            read(text.as_bytes()).unwrap_err().code,
            Code::ImportUnusable,
            "{text:?}"
        );
    }
}

// proves AS-29
#[test]
fn a_message_that_cannot_be_is_where_the_file_ends() {
    let refused = |change: &dyn Fn(&mut SessionCopy)| {
        let mut copy = session("one");
        change(&mut copy);
        let text: String = lines(copy).collect();
        read(text.as_bytes()).unwrap().broken_at
    };
    let message = |change: fn(&mut Message)| {
        refused(&move |copy| change(Arc::make_mut(&mut copy.messages[1].message)))
    };
    assert_eq!(message(|_| {}), None);
    assert_eq!(message(|message| message.role = Role::User), Some(4));
    assert_eq!(message(|message| message.role = Role::Tool), Some(4));
    assert_eq!(
        message(|message| {
            let deep = (0..120).fold(json!(1), |deep, _| json!([deep]));
            message.metadata.insert("deep".to_owned(), deep);
        }),
        Some(4)
    );
    for agent in ["other", "master/", "master/a b", ""] {
        let of_other = |copy: &mut SessionCopy| copy.messages[1].agent = AgentPath::read(agent);
        assert_eq!(refused(&of_other), Some(4), "{agent:?}");
    }
    assert_eq!(
        refused(&|copy| copy.session.agent = "a/b".to_owned()),
        Some(2)
    );
}
