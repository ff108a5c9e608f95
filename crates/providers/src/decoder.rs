//! Reads one answer in any dialect: bytes in, events out, without waiting.
//!
//! What kind of body it is its first bytes say, whatever its header says: events, JSON in one piece or
//! in lines, or a page for a browser.

use bytes::Bytes;
use samovar_core::ProviderEvent;
use samovar_core::error::FaultCode;
use samovar_locale as locale;

use crate::bounds::MAX_ANSWER_BYTES;
use crate::dialect::{Progress, Reader};
use crate::fault::{Fault, clean};
use crate::frames::Frames;
use crate::repair;

/// How much of a body without a single event is kept, to tell what it was; in bytes.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Reads one answer.
pub(crate) struct Decoder {
    form: Form,
    frames: Frames,
    reader: Box<dyn Reader>,
    /// Signs of the model so far: events of the stream, those that say nothing too, and pieces of
    /// JSON; comments and blank lines are none.
    heard: u64,
    /// What came before the first event.
    head: Vec<u8>,
    /// The last that came.
    tail: Tail,
}

/// What a body is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Nothing but blanks came.
    Unknown,
    Events,
    Json,
    Page,
}

impl Decoder {
    pub(crate) fn new(reader: Box<dyn Reader>) -> Self {
        Self {
            form: Form::Unknown,
            frames: Frames::new(),
            reader,
            heard: 0,
            head: Vec::new(),
            tail: Tail::default(),
        }
    }

    /// How far the answer has come.
    pub(crate) fn progress(&self) -> Progress {
        self.reader.progress()
    }

    /// How many signs of the model came.
    pub(crate) fn heard(&self) -> u64 {
        self.heard
    }

    /// Takes what one read brought, and adds all that it says.
    ///
    /// # Errors
    /// As [`Reader::take`], or there is more than an answer may have.
    pub(crate) fn read(
        &mut self,
        mut bytes: Bytes,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        if self.form == Form::Unknown {
            self.form = form(&bytes);
            // Blanks before the first event are part of no field, in whatever pieces they come.
            let start = bytes.len() - bytes.trim_ascii_start().len();
            bytes = bytes.slice(start..);
        }
        match self.form {
            Form::Unknown => Ok(()),
            Form::Events => self.read_events(bytes, events),
            Form::Json => {
                self.heard += 1;
                self.gather(&bytes, MAX_ANSWER_BYTES);
                if self.head.len() < MAX_ANSWER_BYTES {
                    return Ok(());
                }
                let why = locale::provider::answer_too_large(MAX_ANSWER_BYTES as u64);
                Err(Fault::too_large(why))
            }
            Form::Page => {
                self.gather(&bytes, MAX_HEAD_BYTES);
                if self.head.len() < MAX_HEAD_BYTES {
                    return Ok(());
                }
                Err(self.text_instead())
            }
        }
    }

    fn gather(&mut self, bytes: &[u8], most: usize) {
        let room = most.saturating_sub(self.head.len());
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn read_events(&mut self, bytes: Bytes, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        if self.heard == 0 {
            self.gather(&bytes, MAX_HEAD_BYTES);
        }
        self.tail.push(&bytes);
        self.frames.feed(bytes);
        while let Some(frame) = self.frames.take()? {
            if self.heard == 0 {
                self.head = Vec::new();
            }
            self.heard += 1;
            let data = frame.data.as_deref().unwrap_or_default().trim();
            self.take(frame.event.as_deref(), data, events)?;
            if self.progress() == Progress::Over {
                break;
            }
        }
        Ok(())
    }

    /// Takes an event. Some servers forget the blank line between two: then each line is one.
    fn take(
        &mut self,
        name: Option<&str>,
        data: &str,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        if data.starts_with('"')
            && let Ok(inner) = serde_json::from_str::<String>(data)
        {
            // An event that was written as JSON twice.
            return self.reader.take(name, inner.trim(), events);
        }
        if !data.contains('\n') || repair::is_whole(data) {
            return self.reader.take(name, data, events);
        }
        for line in data.lines().map(str::trim) {
            if self.progress() != Progress::Over {
                self.reader.take(name, line, events)?;
            }
        }
        Ok(())
    }

    /// The stream has ended, well or by a cut.
    ///
    /// # Errors
    /// The answer is not whole, or it is none.
    pub(crate) fn end(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        if self.progress() == Progress::Over {
            return Ok(());
        }
        match self.form {
            Form::Json => self.end_json(events),
            Form::Page => Err(self.text_instead()),
            Form::Unknown => self.reader.end(events),
            Form::Events => {
                self.end_events(events)?;
                match self.progress() {
                    Progress::Over => Ok(()),
                    Progress::Speaking if self.is_text() => Err(self.text_instead()),
                    Progress::Speaking | Progress::Stopped => self
                        .reader
                        .end(events)
                        .map_err(|fault| self.with_last_words(fault)),
                }
            }
        }
    }

    /// An event that no blank line ends counts when it is whole; half of one says nothing.
    fn end_events(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        match self.read_events(Bytes::from_static(b"\n\n"), events) {
            // The end of an answer is no half of an event.
            Err(fault)
                if fault.code != FaultCode::BadResponse || self.progress() == Progress::Over =>
            {
                Err(fault)
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Whether what came is no stream of events at all.
    fn is_text(&self) -> bool {
        let head = String::from_utf8_lossy(&self.head);
        let head = head.trim_start_matches('\u{feff}');
        let mut lines = head
            .split(['\r', '\n'])
            .filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or(":");
        // The last line may be half of one.
        let is_half = |field: &&str| field.starts_with(first);
        let is_events = is_field(first) || ["data:", "event:", "id:", "retry:"].iter().any(is_half);
        self.heard == 0 && !is_events
    }

    /// A cut with what a proxy says of it in the middle of the events.
    fn with_last_words(&self, fault: Fault) -> Fault {
        match self.tail.words() {
            Some(words) if fault.code == FaultCode::StreamCut => {
                Fault::new(fault.code, locale::provider::answer_cut_by(words))
            }
            Some(_) | None => fault,
        }
    }

    fn text_instead(&self) -> Fault {
        Fault::text_instead(&String::from_utf8_lossy(&self.head))
    }

    /// Takes JSON: an answer in one piece, or an event in each line or in each place of a list.
    fn end_json(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        let head = std::mem::take(&mut self.head);
        let body = String::from_utf8_lossy(&head);
        let pieces = repair::documents(body.trim_start_matches('\u{feff}'));
        let pieces = pieces.map_err(|error| {
            if error.is_eof() {
                return Fault::new(FaultCode::StreamCut, locale::provider::answer_cut());
            }
            Fault::bad(locale::provider::no_piece(error))
        })?;
        if let [piece] = pieces.as_slice() {
            return self.reader.whole(piece, events);
        }
        for piece in &pieces {
            if self.progress() != Progress::Over {
                self.reader.take(None, piece, events)?;
            }
        }
        match self.progress() {
            Progress::Over => Ok(()),
            Progress::Speaking | Progress::Stopped => self.reader.end(events),
        }
    }
}

/// Whether a line is a field of an event, or a comment.
fn is_field(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default();
    line.contains(':') && matches!(name, "" | "data" | "event" | "id" | "retry")
}

/// The last bytes that came.
#[derive(Default)]
struct Tail(Vec<u8>);

impl Tail {
    /// How much is kept, in bytes.
    const MAX: usize = 512;

    fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(Self::MAX)..];
        let over = (self.0.len() + bytes.len()).saturating_sub(Self::MAX);
        self.0.drain(..over);
        self.0.extend_from_slice(bytes);
    }

    /// Its last line, if that belongs to no event.
    fn words(&self) -> Option<String> {
        let tail = String::from_utf8_lossy(&self.0);
        let mut lines = tail.trim_end().rsplit(['\r', '\n']);
        let last = lines.next()?.trim();
        // Without a line before it the last one may be half of an event.
        let is_words = lines.next().is_some() && !is_field(last) && last.contains(' ');
        is_words.then(|| clean(last))
    }
}

/// What a body is, by its first bytes.
fn form(bytes: &[u8]) -> Form {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    match bytes.trim_ascii_start().first() {
        None => Form::Unknown,
        Some(b'{' | b'[') => Form::Json,
        Some(b'<') => Form::Page,
        // Events, or a mark of the encoding that is cut in the middle, or other text.
        Some(_) => Form::Events,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specs::spec;

    /// How many bytes of a body that never ends are taken, in pieces of 1,400, before it is refused.
    fn taken(start: &str, more: &str) -> (usize, Fault) {
        let spec = spec("openai").unwrap();
        let mut decoder = Decoder::new((spec.dialect.unwrap().reader)(spec));
        let (mut events, mut taken) = (Vec::new(), 0);
        let piece = Bytes::from(more.repeat(1400 / more.len()));
        let mut next = Bytes::from(start.to_owned());
        loop {
            taken += next.len();
            if let Err(fault) = decoder.read(next, &mut events) {
                assert!(events.is_empty());
                return (taken, fault);
            }
            next = piece.clone();
        }
    }

    // proves MD-3
    #[test]
    fn blanks_before_the_first_event_hide_nothing_of_it() {
        let spec = spec("openai").unwrap();
        let dialect = spec.dialect.unwrap();
        let body: &[u8] =
            b" \r\n data: {\"choices\":[{\"delta\":{\"content\":\"yes\"}}]}\n\ndata: [DONE]\n\n";
        let whole = crate::recorded::read(dialect, spec, &[body]);
        let pieces: Vec<_> = body.chunks(1).collect();
        assert_eq!(whole.events[0], ProviderEvent::TextDelta("yes".to_owned()));
        assert_eq!(crate::recorded::read(dialect, spec, &pieces), whole);
    }

    // proves MD-3
    #[test]
    fn an_end_without_a_blank_line_hides_no_fault() {
        let spec = spec("openai").unwrap();
        let dialect = spec.dialect.unwrap();
        let body = b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":\
            {\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]";
        for end in ["", "\n\n"] {
            let read = crate::recorded::read(dialect, spec, &[body, end.as_bytes()]);
            assert_eq!(
                read.fault,
                Some(FaultCode::BadResponse),
                "{:?}",
                read.events
            );
        }
    }

    // proves MD-3, MD-4
    #[test]
    fn a_body_without_an_end_is_refused_at_a_bound() {
        for (start, more, most, is_final) in [
            ("{", " ", MAX_ANSWER_BYTES, true),
            ("<html>", "x", MAX_HEAD_BYTES, true),
            ("data: ", "x", crate::frames::MAX_EVENT_BYTES, false),
            ("x", "x", crate::frames::MAX_EVENT_BYTES, false),
            (":", "x", crate::frames::MAX_EVENT_BYTES, false),
        ] {
            let (taken, fault) = taken(start, more);
            assert_eq!(fault.code, FaultCode::BadResponse, "{start}");
            assert!(taken <= most + 2 * 1400, "{start}: {taken}");
            assert_eq!(fault.is_final, is_final, "{start}");
        }
    }
}
