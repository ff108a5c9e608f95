//! The file of an export (AS-29): JSON lines, of which each has a checksum of itself and of all before it.
//!
//! The first names the schema and its version; then come a session, its messages in their order, each
//! with the path of its agent, and an end. An image comes once, before the first message that names it.
//! Several sessions follow each other, and files may be joined.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use samovar_core::history::{MessageRow, SessionRow};
use samovar_core::message::value_is_shallow;
use samovar_core::{
    AgentName, AgentPath, BlobHash, Code, Error, Image, Message, Millis, Part, Role, Seq,
    SessionCopy, SessionId, SystemPrompt, Title, Usage, json,
};
use samovar_locale as locale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::agent::Attachment;

/// The schema's name.
const SCHEMA: &str = "samovar.export";
/// The version that is written, and the newest that is read.
const VERSION: u64 = 1;
/// The most bytes of a file that are imported at once.
pub const MAX_IMPORT_BYTES: usize = 256 << 20;
/// The most bytes that lines without an image have, and their commas and brackets: what is made of them
/// in memory may be many times as large.
const MAX_TEXT_BYTES: usize = 64 << 20;
const MAX_MARKS: usize = 4_000_000;
/// The most bytes of one such line.
const MAX_LINE_BYTES: usize = 4 << 20;
/// The most bytes of a model's name.
const MAX_MODEL_BYTES: usize = 256;
const BOM: &[u8] = b"\xef\xbb\xbf";
/// How deep a line may nest: what is kept of it is wrapped once more, and has to be read back.
const MAX_DEPTH: usize = 96;
/// What stands before a line's checksum.
const BEFORE_SUM: &str = ",\"sum\":\"";

/// Parameters of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportParams {
    /// The session.
    pub id: SessionId,
}

/// A line of an export, as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportLine {
    /// The checksum of the line and of all lines before it.
    pub sum: String,
}

/// What was imported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportResult {
    /// The sessions, in the order of the file.
    pub sessions: Vec<ImportedSession>,
    /// The first line that was cut or changed; it and all after it were not imported. Absent if the
    /// file is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_at_line: Option<u64>,
}

/// A session that was imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedSession {
    /// The session.
    pub session_id: SessionId,
    /// Its id in the file, which is another one if a session here has that.
    pub from: SessionId,
    /// The number of its messages in the file.
    pub messages: u64,
    /// How many of them have another id here, because a message here has theirs.
    pub renamed: u64,
}

/// A line, without its checksum.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub enum Line {
    /// The first.
    Head {
        /// The schema's name.
        schema: String,
        /// Its version.
        version: u64,
    },
    /// A session.
    Session {
        /// The session.
        session: Box<ExportedSession>,
    },
    /// A message.
    Message {
        /// Whose conversation it is in.
        agent: AgentPath,
        /// The message.
        message: Box<Message>,
    },
    /// The bytes of an image.
    Blob {
        /// The image.
        blob: ExportedBlob,
    },
    /// The end of a session.
    End {
        /// How many messages it has.
        messages: u64,
    },
}

/// The bytes of an image in a file.
#[derive(Serialize, Deserialize)]
pub struct ExportedBlob {
    sha256: BlobHash,
    /// In base64.
    data: String,
}

/// What is written next.
pub enum Step {
    /// A line.
    Line(Line),
    /// The bytes of this blob, which [`Line::of_blob`] spells.
    Blob(BlobHash),
}

/// A session in a file.
#[derive(Serialize, Deserialize)]
pub struct ExportedSession {
    id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<Title>,
    model: String,
    agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system_prompt: Option<SystemPrompt>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    #[serde(default)]
    usage: Usage,
    created_at: Millis,
    updated_at: Millis,
}

impl Line {
    /// The bytes of an image.
    pub fn of_blob(hash: BlobHash, bytes: &[u8]) -> Self {
        Self::Blob {
            blob: ExportedBlob {
                sha256: hash,
                data: Attachment::of(bytes).data,
            },
        }
    }
}

/// What the file of a session has, one after the other.
pub fn steps(copy: SessionCopy) -> impl Iterator<Item = Step> + Send {
    let SessionCopy { session, messages } = copy;
    let count = messages.len() as u64;
    let head = Line::Head {
        schema: SCHEMA.to_owned(),
        version: VERSION,
    };
    let of_session = Line::Session {
        session: Box::new(ExportedSession::of(session)),
    };
    let mut named = BTreeSet::new();
    let messages = messages.into_iter().flat_map(move |row| {
        let new = row
            .message
            .blobs()
            .filter(|blob| named.insert((*blob).clone()));
        let mut steps: Vec<_> = new.cloned().map(Step::Blob).collect();
        steps.push(Step::Line(Line::Message {
            agent: row.agent,
            message: Box::new(std::sync::Arc::unwrap_or_clone(row.message)),
        }));
        steps
    });
    let end = Line::End { messages: count };
    let before = [head, of_session].into_iter().map(Step::Line);
    before.chain(messages).chain([Step::Line(end)])
}

/// Spells lines, each with its checksum.
#[derive(Default)]
pub struct Writer(Sha256);

impl Writer {
    /// The text of the next line.
    pub fn write(&mut self, line: &Line) -> String {
        if matches!(line, Line::Head { .. }) {
            self.0 = Sha256::new();
        }
        // What was read as JSON can be written as JSON.
        let text = serde_json::to_string(line).unwrap_or_default();
        let body = text.strip_suffix('}').unwrap_or(&text);
        let sum = next_sum(&mut self.0, body);
        format!("{body}{BEFORE_SUM}{sum}\"}}\n")
    }
}

/// The checksum of a line, and of all before it.
fn next_sum(chain: &mut Sha256, body: &str) -> String {
    chain.update(body.as_bytes());
    let sum = chain.clone().finalize();
    let first = sum.first_chunk().copied().unwrap_or_default();
    format!("{:016x}", u64::from_be_bytes(first))
}

/// Whether a line begins an export.
pub fn begins(line: &[u8]) -> bool {
    line.starts_with(b"{\"schema\"")
}

/// Checks the line that begins an export.
///
/// # Errors
/// [`Code::ImportUnusable`] when it is another schema, or of a newer version.
pub fn check_head(line: &[u8]) -> Result<(), Error> {
    let line = line.strip_prefix(BOM).unwrap_or(line);
    match split(line.trim_ascii_end()) {
        Some((_, _, Line::Head { schema, version })) => is_readable(&schema, version),
        _ => Err(unusable(locale::export::no_export())),
    }
}

fn is_readable(schema: &str, version: u64) -> Result<(), Error> {
    if schema != SCHEMA {
        return Err(unusable(locale::export::no_export()));
    }
    if version > VERSION {
        return Err(unusable(locale::export::newer(version, VERSION)));
    }
    Ok(())
}

/// What a file has.
#[derive(Debug, Default)]
pub struct ImportFile {
    /// The sessions, of which the last may be cut.
    pub sessions: Vec<SessionCopy>,
    /// The images that messages of the file name.
    pub blobs: HashMap<BlobHash, ImportedBlob>,
    /// The first line that was cut or changed, from 1; the rest was not read.
    pub broken_at: Option<u64>,
}

/// An image of a file.
#[derive(Debug)]
pub struct ImportedBlob {
    /// Where it is in the file, in base64, which is checked.
    at: Range<usize>,
    part: Part,
}

impl ImportedBlob {
    /// The bytes of the image, out of the file that was read.
    pub fn bytes(&self, file: &[u8]) -> std::sync::Arc<[u8]> {
        let data = file.get(self.at.clone()).unwrap_or_default();
        STANDARD.decode(data).unwrap_or_default().into()
    }
}

/// Reads a file up to the first line that was cut or changed.
///
/// # Errors
/// [`Code::ImportUnusable`] when it does not begin as an export, or is of a newer version.
pub fn read(file: &[u8]) -> Result<ImportFile, Error> {
    let mut reader = Reader::default();
    // An editor may have put it there.
    let mut rest = file.strip_prefix(BOM).unwrap_or(file);
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, behind) = match end {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None => (rest, &[][..]),
        };
        let begins = file.len() - rest.len();
        rest = behind;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if reader.take(line, begins)?.is_none() {
            return Ok(reader.end(Some(number)));
        }
    }
    let is_cut = reader.open.is_some() || reader.is_begun;
    let last = is_cut.then_some(number + 1);
    if number == 0 {
        return Err(unusable(locale::export::no_export()));
    }
    Ok(reader.end(last))
}

#[derive(Default)]
struct Reader {
    chain: Option<Sha256>,
    sessions: Vec<SessionCopy>,
    /// Whether a session must follow.
    is_begun: bool,
    /// The session whose end was not read yet.
    open: Option<SessionCopy>,
    /// Of lines without an image, so far.
    bytes: usize,
    marks: usize,
    blobs: HashMap<BlobHash, ImportedBlob>,
}

impl Reader {
    /// Counts what a line without an image will take; whether there is room for it.
    fn has_room(&mut self, line: &[u8]) -> bool {
        if line.starts_with(b"{\"blob\"") {
            return true;
        }
        let is_mark = |byte: &&u8| matches!(byte, b',' | b'[' | b'{');
        self.bytes += line.len();
        self.marks += line.iter().filter(is_mark).count();
        let fits = self.bytes <= MAX_TEXT_BYTES && self.marks <= MAX_MARKS;
        fits && line.len() <= MAX_LINE_BYTES
    }

    /// Takes a line in; `None` if it was cut or changed.
    fn take(&mut self, text: &[u8], begins: usize) -> Result<Option<()>, Error> {
        if !self.has_room(text) {
            return Err(unusable(locale::export::too_large()));
        }
        let read = split(text);
        let Some((body, sum, line)) = read else {
            return match self.chain {
                Some(_) => Ok(None),
                None => Err(unusable(locale::export::no_export())),
            };
        };
        if let Line::Head { schema, version } = &line {
            is_readable(schema, *version)?;
            self.chain = Some(Sha256::new());
        }
        let Some(chain) = &mut self.chain else {
            return Err(unusable(locale::export::no_export()));
        };
        if next_sum(chain, body) != sum {
            return Ok(None);
        }
        Ok(match line {
            Line::Blob { .. } => self.add_blob(text, begins),
            line => self.add(line),
        })
    }

    fn add(&mut self, line: Line) -> Option<()> {
        match (line, &mut self.open) {
            (Line::Head { .. }, None) if !self.is_begun => self.is_begun = true,
            (Line::Session { session }, None) => {
                let messages = Vec::new();
                self.is_begun = false;
                let session = session.into_row()?;
                self.open = Some(SessionCopy { session, messages });
            }
            (Line::Message { agent, message }, Some(open)) => {
                let is_here = agent.names().next() == Some(&open.session.agent);
                if !is_here || !agent.names().all(is_name) || !is_whole(&message) {
                    return None;
                }
                let message = with_known_images(*message, &self.blobs);
                open.messages.push(MessageRow {
                    session: open.session.id.clone(),
                    turn: None,
                    agent,
                    has_begun: true,
                    place: Seq::default(),
                    message: message.into(),
                });
            }
            (Line::End { messages }, Some(open)) if open.messages.len() as u64 == messages => {
                self.sessions.extend(self.open.take());
            }
            _ => return None,
        }
        Some(())
    }

    /// Takes an image, which is one and has the hash that it says.
    fn add_blob(&mut self, line: &[u8], begins: usize) -> Option<()> {
        #[derive(Deserialize)]
        struct OfBlob<'a> {
            #[serde(borrow)]
            blob: Borrowed<'a>,
        }
        #[derive(Deserialize)]
        struct Borrowed<'a> {
            sha256: BlobHash,
            data: &'a str,
        }
        self.open.as_ref()?;
        let OfBlob { blob } = serde_json::from_slice(line).ok()?;
        let bytes = STANDARD.decode(blob.data).ok()?;
        let (length, image) = (bytes.len(), Image::new(bytes).ok()?);
        let is_it = *image.hash() == blob.sha256 && image.bytes().len() == length;
        let data = std::str::from_utf8(line).ok()?.find(blob.data)?;
        let at = begins + data..begins + data + blob.data.len();
        let part = Part::from(&image);
        self.blobs.insert(blob.sha256, ImportedBlob { at, part });
        is_it.then_some(())
    }

    fn end(mut self, broken_at: Option<u64>) -> ImportFile {
        self.sessions.extend(self.open.take());
        let sessions = self.sessions;
        ImportFile {
            sessions,
            blobs: self.blobs,
            broken_at,
        }
    }
}

/// The message with its images as their bytes say; one whose bytes the file lacks is named in words.
fn with_known_images(mut message: Message, blobs: &HashMap<BlobHash, ImportedBlob>) -> Message {
    for part in &mut message.parts {
        if let Part::Image {
            blob,
            width,
            height,
            ..
        } = part
        {
            *part = match blobs.get(blob) {
                Some(blob) => blob.part.clone(),
                None => Part::text(format!(
                    "\n[An image of {width} × {height} pixels was not exported.]"
                )),
            };
        }
    }
    message
}

/// A line's text before its checksum, the checksum, and what it says.
fn split(line: &[u8]) -> Option<(&str, &str, Line)> {
    let text = std::str::from_utf8(line).ok()?;
    let (body, sum) = text.rsplit_once(BEFORE_SUM)?;
    let sum = sum.strip_suffix("\"}")?;
    let value = json::read(format!("{body}}}").as_bytes()).ok()?;
    let line = value_is_shallow(&value, MAX_DEPTH).then_some(value)?;
    Some((body, sum, serde_json::from_value(line).ok()?))
}

fn is_name(name: &str) -> bool {
    AgentName::new(name).is_ok()
}

/// Whether a message has the parts of its role.
fn is_whole(message: &Message) -> bool {
    let fits = |part: &Part| match part {
        Part::Outcome { .. } => message.role == Role::Tool,
        Part::Call(_) | Part::Reasoning { .. } => message.role == Role::Assistant,
        Part::Text { .. } | Part::Data { .. } => message.role != Role::Tool,
        Part::Image { .. } => message.role == Role::User,
    };
    message.parts.iter().all(fits) && (message.role != Role::Tool || message.parts.len() == 1)
}

impl ExportedSession {
    fn of(row: SessionRow) -> Self {
        Self {
            id: row.id,
            title: row.title,
            model: row.model,
            agent: row.agent,
            system_prompt: row.system_prompt,
            metadata: row.metadata,
            usage: row.usage,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }

    fn into_row(self) -> Option<SessionRow> {
        let is_model =
            self.model.len() <= MAX_MODEL_BYTES && !self.model.contains(char::is_control);
        (is_name(&self.agent) && is_model).then_some(())?;
        Some(SessionRow {
            id: self.id,
            title: self.title,
            model: self.model,
            route: None,
            agent: self.agent,
            system_prompt: self.system_prompt,
            approval: None,
            begun_by: None,
            tainted: true,
            metadata: self.metadata,
            created_at: self.created_at,
            updated_at: self.updated_at,
            message_count: 0,
            preview: None,
            usage: self.usage,
            context: None,
            projected: Seq::default(),
        })
    }
}

fn unusable(why: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(Code::ImportUnusable, why)
}
