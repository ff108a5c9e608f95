//! One event in the spool: `crc32 (4) | length (4) | log (8) | seq (8) | epoch (8) | JSON`, numbers
//! little-endian. The checksum covers all that follows it, the length is that of the JSON.

use std::io::Write as _;

use samovar_core::event::Fragment;
use samovar_core::journal::LogNo;
use samovar_core::{AgentPath, Author, Broken, Epoch, Event, Kind, MessageId, Millis, Seq, TurnId};
use serde::Deserialize;

const HEADER_BYTES: usize = 32;
const CRC_BYTES: usize = 4;

/// What a delta usually takes, to make room at once.
pub(super) const USUAL_BYTES: usize = 320;

/// A frame whose checksum holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) log: LogNo,
    pub(crate) seq: Seq,
    pub(crate) epoch: Epoch,
    json: &'a [u8],
}

impl Frame<'_> {
    /// Its event; `None` if this program cannot read it.
    pub(crate) fn event(&self) -> Option<Event> {
        if let Ok(said) = serde_json::from_slice::<DeltaEvent>(self.json) {
            return Some(said.into());
        }
        let event = serde_json::from_slice(self.json);
        event
            .inspect_err(|error| tracing::error!(%error, seq = self.seq.0, "an unreadable frame"))
            .ok()
    }
}

/// A delta event, as nearly all in the spool are. A boot parses them in half the time because their
/// type is known; other events do not fit this struct.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeltaEvent {
    seq: Seq,
    epoch: Epoch,
    at: Millis,
    #[serde(default)]
    turn: Option<TurnId>,
    agent: AgentPath,
    author: Author,
    kind: DeltaKind,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeltaKind {
    #[serde(rename = "type")]
    _tag: Tag,
    message: MessageId,
    part: u16,
    fragment: Fragment,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tag {
    Delta,
}

impl From<DeltaEvent> for Event {
    fn from(said: DeltaEvent) -> Self {
        let DeltaKind {
            _tag: Tag::Delta,
            message,
            part,
            fragment,
        } = said.kind;
        Self {
            seq: said.seq,
            epoch: said.epoch,
            at: said.at,
            turn: said.turn,
            agent: said.agent,
            author: said.author,
            kind: Kind::Delta {
                message,
                part,
                fragment,
            },
        }
    }
}

/// Appends an event's frame.
pub(crate) fn append(bytes: &mut Vec<u8>, log: LogNo, event: &Event) -> Result<(), Broken> {
    let unwritable = |why: &str| Broken::Io(format!("an event cannot be written: {why}"));
    let start = bytes.len();
    bytes.resize(start + HEADER_BYTES, 0);
    serde_json::to_writer(&mut *bytes, event).map_err(|error| unwritable(&error.to_string()))?;
    let (_, frame) = bytes.split_at_mut(start);
    let length = u32::try_from(frame.len() - HEADER_BYTES).map_err(|_| unwritable("too long"))?;
    let mut header = &mut frame[CRC_BYTES..HEADER_BYTES];
    let numbers = [log.0, event.seq.0, event.epoch.0];
    header
        .write_all(&length.to_le_bytes())
        .and_then(|()| header.write_all(numbers.map(u64::to_le_bytes).as_flattened()))
        .map_err(|error| unwritable(&error.to_string()))?;
    let crc = crc32fast::hash(&frame[CRC_BYTES..]);
    frame[..CRC_BYTES].copy_from_slice(&crc.to_le_bytes());
    Ok(())
}

/// The frames of a segment, up to the first that is torn or damaged.
pub(crate) fn frames(mut segment: &[u8]) -> impl Iterator<Item = Frame<'_>> {
    std::iter::from_fn(move || {
        let (frame, rest) = split(segment)?;
        segment = rest;
        Some(frame)
    })
}

fn split(bytes: &[u8]) -> Option<(Frame<'_>, &[u8])> {
    let (crc, content) = bytes.split_first_chunk::<CRC_BYTES>()?;
    let (length, behind) = content.split_first_chunk::<4>()?;
    let (log, behind) = behind.split_first_chunk::<8>()?;
    let (seq, behind) = behind.split_first_chunk::<8>()?;
    let (epoch, behind) = behind.split_first_chunk::<8>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (json, rest) = behind.split_at_checked(length)?;
    let content = &content[..content.len() - rest.len()];
    let frame = Frame {
        log: LogNo(u64::from_le_bytes(*log)),
        seq: Seq(u64::from_le_bytes(*seq)),
        epoch: Epoch(u64::from_le_bytes(*epoch)),
        json,
    };
    (u32::from_le_bytes(*crc) == crc32fast::hash(content)).then_some((frame, rest))
}

#[cfg(test)]
mod tests {
    use samovar_core::tool::Progress;
    use samovar_core::{CallId, Part, Role};

    use super::*;

    fn event(turn: Option<&str>, kind: Kind) -> Event {
        Event {
            seq: Seq(9),
            epoch: Epoch(1_795_000_000),
            at: Millis(-1),
            turn: turn.map(|turn| TurnId::new(turn).unwrap()),
            agent: AgentPath::root("master").child("helper"),
            author: Author::Agent,
            kind,
        }
    }

    // proves DU-3
    #[test]
    fn a_frame_says_what_its_event_said() {
        let message = MessageId::new("m \"1\"").unwrap();
        let fragments = [
            Fragment::Text("é\n\"\\ \u{1f600}".to_owned()),
            Fragment::Reasoning(String::new()),
            Fragment::Args("{\"a\":1}".to_owned()),
            Fragment::Call {
                id: CallId::new("call-1").unwrap(),
                name: "list_dir".to_owned(),
            },
        ];
        let deltas = fragments.map(|fragment| Kind::Delta {
            message: message.clone(),
            part: 3,
            fragment,
        });
        let others = [
            Kind::MessageStarted {
                message: message.clone(),
                role: Role::Assistant,
            },
            Kind::PartAdded {
                message: message.clone(),
                index: 3,
                part: Part::text("whole"),
            },
        ];
        let progress = Kind::CallProgress {
            message: message.clone(),
            call: CallId::new("call-1").unwrap(),
            progress: Progress {
                elapsed_ms: 2_000,
                output_bytes: u64::MAX,
                last: "é\n".to_owned(),
                note: None,
            },
        };
        for kind in deltas.into_iter().chain(others).chain([progress]) {
            for turn in [None, Some("turn\\1")] {
                let event = event(turn, kind.clone());
                let mut bytes = Vec::new();
                append(&mut bytes, LogNo(1), &event).unwrap();
                let frame = frames(&bytes).next().unwrap();

                let is_said = serde_json::from_slice::<DeltaEvent>(frame.json).is_ok();
                assert_eq!(
                    is_said,
                    matches!(event.kind, Kind::Delta { .. }),
                    "{event:?}"
                );
                assert_eq!(frame.event(), Some(event));
            }
        }
    }
}
