//! Reading an export, whole, cut and changed.

use std::sync::Arc;

use samovar_core::history::{MessageRow, Opened};
use samovar_core::{
    AgentPath, CallId, Code, Image, Message, MessageId, Millis, Outcome, Part, Role, Seq,
    SessionCopy, SessionId, ToolCall, Usage,
};
use samovar_wire::export::{Line, Step, Writer, read, steps};
use serde_json::{Map, json};

fn session(name: &str) -> SessionCopy {
    let id = SessionId::new(name).expect("an id");
    let opened = Opened {
        model: "demo".to_owned(),
        route: None,
        agent: "master".to_owned(),
        system_prompt: None,
        approval: None,
        begun_by: None,
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
        place: Seq::default(),
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

/// The lines of a file whose only image is this one.
fn lines_with(copy: SessionCopy, image: &[u8]) -> impl Iterator<Item = String> {
    let mut writer = Writer::default();
    steps(copy).map(move |step| match step {
        Step::Line(line) => writer.write(&line),
        Step::Blob(hash) => writer.write(&Line::of_blob(hash, image)),
    })
}

fn lines(copy: SessionCopy) -> impl Iterator<Item = String> {
    lines_with(copy, &[])
}

// proves AS-29, AS-30
#[test]
fn an_image_is_in_the_file_once_and_is_what_its_hash_says() {
    let bytes = include_bytes!("../../../core/src/image/samples/plain.png").to_vec();
    let image = Image::new(bytes.clone()).expect("an image");
    let mut copy = session("one");
    for row in &mut copy.messages {
        if row.message.role == Role::User {
            let message = Arc::make_mut(&mut row.message);
            message
                .parts
                .extend([Part::from(&image), Part::from(&image)]);
        }
    }
    let text: String = lines_with(copy.clone(), &bytes).collect();
    assert_eq!(text.matches("{\"blob\":{\"sha256\"").count(), 1);
    let whole = read(text.as_bytes()).expect("an export");
    assert_eq!(
        (whole.broken_at, &whole.sessions[0].messages),
        (None, &copy.messages)
    );
    assert_eq!(*whole.blobs[image.hash()].bytes(text.as_bytes()), *bytes);

    let other = include_bytes!("../../../core/src/image/samples/lossy.webp");
    let polyglot = [&bytes, other.as_slice()].concat();
    for lie in [other.as_slice(), b"<svg/>", &bytes[1..], &polyglot, &[]] {
        let text: String = lines_with(copy.clone(), lie).collect();
        assert_eq!(read(text.as_bytes()).unwrap().broken_at, Some(3));
    }
    let mut writer = Writer::default();
    let lines = steps(copy).filter_map(|step| match step {
        Step::Line(line) => Some(writer.write(&line)),
        Step::Blob(_) => None,
    });
    let without = read(lines.collect::<String>().as_bytes())
        .expect("an export")
        .sessions;
    let said = without[0].messages[0].message.text();
    assert!(
        said.contains("An image of 3 × 2 pixels was not exported"),
        "{said}"
    );
}

fn file(names: &[&str]) -> String {
    names.iter().flat_map(|name| lines(session(name))).collect()
}

// proves AS-29
#[test]
fn a_file_brings_back_what_was_exported_and_files_may_be_joined() {
    let file = file(&["one", "two"]);
    let read = read(file.as_bytes()).unwrap();
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
        assert_eq!(read.broken_at.is_none(), is_end, "{cut}: {read:?}");
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
    let lines = lines.join("\n");
    let read = read(lines.as_bytes()).unwrap();
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
fn what_an_editor_adds_is_ignored_and_a_file_without_its_session_is_cut() {
    let text = file(&["one"]);
    let edited = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let read_again = read(edited.as_bytes()).expect("an export");
    assert_eq!((read_again.broken_at, read_again.sessions.len()), (None, 1));
    let head = text.lines().next().expect("a head");
    let lines = text.lines().count() as u64;
    for (text, broken_at) in [
        (head.to_owned(), Some(2)),
        (format!("{head}\n{head}\n"), Some(2)),
        (format!("{text}{head}\n"), Some(lines + 2)),
    ] {
        assert_eq!(
            read(text.as_bytes()).expect("an export").broken_at,
            broken_at
        );
    }
}

// proves AS-29
#[test]
fn what_no_other_way_takes_does_not_come_in() {
    let refused = |change: &dyn Fn(&mut SessionCopy)| {
        let mut copy = session("one");
        change(&mut copy);
        let text: String = lines(copy).collect();
        let read = read(text.as_bytes());
        read.map_err(|error| error.code).map(|file| file.broken_at)
    };
    let with_text = |text: String| {
        refused(&move |copy| {
            Arc::make_mut(&mut copy.messages[0].message).parts = vec![Part::text(text.clone())];
        })
    };
    assert_eq!(with_text("x".repeat(3 << 20)), Ok(None));
    assert_eq!(with_text("x".repeat(5 << 20)), Err(Code::ImportUnusable));
    assert_eq!(
        with_text(",".repeat((4 << 20) - 4096)),
        Err(Code::ImportUnusable)
    );
    for model in ["a\nb".to_owned(), "m".repeat(300)] {
        let refused = refused(&move |copy| copy.session.model.clone_from(&model));
        assert_eq!(refused, Ok(Some(2)));
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
