//! A relay on a temporary folder, members that are short to write, and the rows of its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use samovar_core::Millis;
use samovar_core::relay::{Envelope, MessageKind, Payload};
use samovar_doubles::TestClock;
use samovar_relay::{Disconnected, Member, Pass, Relay, RelayConfig, Row, row};
use serde_json::{Value, json};

/// 2026-02-13T10:22:17Z.
const NOON: i64 = 1_770_978_137_000;
/// In milliseconds.
const HOUR: i64 = 3_600_000;

/// A relay, and where it keeps its logs.
pub(crate) struct Bench {
    pub(crate) relay: Relay,
    dir: Folder,
}

/// A folder, which may be gone with its last owner.
type Folder = Arc<dyn AsRef<Path> + Send + Sync>;

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(RelayConfig::default())
    }

    pub(crate) fn with(config: RelayConfig) -> Self {
        Self::on(Arc::new(tempfile::tempdir().unwrap()), config, NOON)
    }

    /// A relay on a folder that others have had before.
    #[cfg(feature = "failpoints")]
    pub(crate) fn at(dir: &Path, config: RelayConfig) -> Self {
        Self::on(Arc::new(dir.to_owned()), config, NOON + HOUR)
    }

    fn on(dir: Folder, config: RelayConfig, begin: i64) -> Self {
        let clock = Arc::new(TestClock::ticking(Millis(begin), 1));
        Self {
            relay: Relay::open((*dir).as_ref(), clock, config),
            dir,
        }
    }

    /// The same folder under a relay that is started over.
    pub(crate) async fn again(self, config: RelayConfig) -> Self {
        self.relay.close().await;
        Self::on(self.dir, config, NOON + HOUR)
    }

    /// The same folder under another relay, while nothing has closed the one before.
    pub(crate) fn after_a_kill(&self) -> Self {
        Self::on(self.dir.clone(), RelayConfig::default(), NOON + HOUR)
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        (*self.dir).as_ref().join(below)
    }

    /// Somebody who has joined.
    pub(crate) async fn joins(&self, role: &str, room: &str) -> Member {
        let mut member = self.relay.enter(Pass::Any);
        member.say(join(role, room)).await;
        let joined = member.next().await.unwrap();
        assert_eq!(joined.kind, MessageKind::RelayJoined, "{joined:?}");
        member
    }

    /// The rows of a file below `logs`, each with its place and its check as they must be.
    pub(crate) fn rows(&self, file: &str) -> Vec<Row> {
        let text = std::fs::read_to_string(self.path("logs").join(file)).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        let rows: Vec<Row> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect();
        let mut previous = String::new();
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(row.event_index, index as u64, "{row:?}");
            assert_eq!(row.check, row::check(&previous, row), "{row:?}");
            previous.clone_from(&row.check);
        }
        rows
    }

    /// The rows of the one file of a room.
    pub(crate) fn room_rows(&self) -> Vec<Row> {
        let files = self.files("room");
        let files: Vec<_> = files
            .iter()
            .filter(|name| !name.ends_with("json"))
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        self.rows(&format!("room/{}", files[0]))
    }

    /// The names in a folder below `logs`, sorted.
    pub(crate) fn files(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path("logs").join(folder)) else {
            return Vec::new();
        };
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// A message by its parts.
pub(crate) fn message(kind: &str, id: Option<&str>, payload: Value) -> Envelope {
    let kind = MessageKind::from_word(kind).unwrap();
    Envelope {
        id: id.map(str::to_owned),
        ..Envelope::new(kind, fields(payload))
    }
}

/// A reply.
pub(crate) fn reply(kind: &str, reply_to: &str, payload: Value) -> Envelope {
    message(kind, None, payload).replying_to(Some(reply_to.to_owned()))
}

pub(crate) fn join(role: &str, room: &str) -> Envelope {
    message(
        "relay.join",
        Some("join-001"),
        json!({"role": role, "sessionId": room}),
    )
}

pub(crate) fn fields(payload: Value) -> Payload {
    match payload {
        Value::Object(fields) => fields,
        other => panic!("{other} is no payload"),
    }
}

/// A message in short: `type id>replyTo {payload}`.
pub(crate) fn short(envelope: &Envelope) -> String {
    let id = envelope.id.as_deref().unwrap_or_default();
    let reply_to = envelope.reply_to.as_deref().unwrap_or_default();
    let payload = Value::Object(envelope.payload.clone());
    format!("{} {id}>{reply_to} {payload}", envelope.kind.as_str())
}

/// What comes next, in short.
pub(crate) async fn gets(member: &mut Member) -> String {
    match member.next().await {
        Ok(envelope) => short(&envelope),
        Err(gone) => format!("gone {gone:?}"),
    }
}

/// The code of the error that comes next, and what it answers.
pub(crate) async fn error_of(member: &mut Member) -> (String, Option<String>) {
    let envelope = member.next().await.unwrap();
    assert_eq!(envelope.kind, MessageKind::Error, "{envelope:?}");
    let code = envelope.payload["code"].as_str().unwrap().to_owned();
    (code, envelope.reply_to.clone())
}

/// Whether nothing waits for a member.
pub(crate) async fn is_quiet(member: &mut Member) -> bool {
    tokio::select! {
        biased;
        _ = member.next() => false,
        () = std::future::ready(()) => true,
    }
}

/// Why nothing more comes to a member.
pub(crate) async fn gone(member: &mut Member) -> Disconnected {
    member.next().await.unwrap_err()
}

/// Rows in short: `direction type role.member`.
pub(crate) fn kinds(rows: &[Row]) -> Vec<String> {
    let short = |row: &Row| {
        let role = row.role.map_or("-", samovar_core::relay::RelayRole::as_str);
        let member = row
            .member
            .map_or_else(String::new, |number| format!(".{number}"));
        format!("{} {} {role}{member}", row.direction.as_str(), row.kind)
    };
    rows.iter().map(short).collect()
}

/// What the one gets of what the other says.
pub(crate) async fn passes(from: &Member, said: Envelope, to: &mut Member) -> String {
    from.say(said).await;
    gets(to).await
}
