//! The event stream of an answer in any dialect: bytes in, events out, no waiting.

use bytes::Bytes;
use samovar_core::ProviderEvent;
use samovar_locale as locale;

use crate::fault::Fault;
use crate::frames::Frames;

/// What a dialect reads one answer with. After an error, and when it is over, nothing more is read.
pub(crate) trait Reader: Send {
    /// Takes an event of the stream, by its name and its data without the blanks around it, and
    /// adds all that it says.
    ///
    /// # Errors
    /// It is an error of the server's, or not what this kind of server sends. What was said before
    /// it stands in `events`.
    fn take(
        &mut self,
        name: Option<&str>,
        data: &str,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault>;

    /// Takes an answer that came in one piece, from a server that does not stream.
    ///
    /// # Errors
    /// It is an error, or no answer.
    fn whole(&mut self, body: &str, events: &mut Vec<ProviderEvent>) -> Result<(), Fault>;

    /// Takes the end of the stream, well or by a cut, when the answer is not over.
    ///
    /// # Errors
    /// The answer is not whole.
    fn end(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault>;

    /// How far the answer has come.
    fn progress(&self) -> Progress;
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The model speaks.
    Speaking,
    /// The model said why it stopped; what comes after that is only the bill.
    Said,
    /// It is complete.
    Over,
}

/// Reads one answer.
pub(crate) struct Decoder {
    frames: Frames,
    reader: Box<dyn Reader>,
    /// Events of the stream so far, those that say nothing too; comments are none.
    heard: u64,
}

impl Decoder {
    pub(crate) fn new(reader: Box<dyn Reader>) -> Self {
        Self {
            frames: Frames::new(),
            reader,
            heard: 0,
        }
    }

    /// How far the answer has come.
    pub(crate) fn progress(&self) -> Progress {
        self.reader.progress()
    }

    /// How many events of the stream came.
    pub(crate) fn heard(&self) -> u64 {
        self.heard
    }

    /// Takes what one read brought, and adds all that it says.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub(crate) fn read(
        &mut self,
        bytes: Bytes,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        self.frames.feed(bytes);
        while let Some(frame) = self.frames.take()? {
            self.heard += 1;
            let data = frame.data.as_deref().unwrap_or_default().trim();
            self.reader.take(frame.event.as_deref(), data, events)?;
            if self.progress() == Progress::Over {
                break;
            }
        }
        Ok(())
    }

    /// The stream has ended, well or by a cut.
    ///
    /// # Errors
    /// The answer is not whole.
    pub(crate) fn end(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        match self.progress() {
            Progress::Over => Ok(()),
            Progress::Speaking | Progress::Said => self.reader.end(events),
        }
    }

    /// Takes an answer that came in one piece.
    ///
    /// # Errors
    /// As [`Reader::whole`], or it is not UTF-8.
    pub(crate) fn whole(
        &mut self,
        body: &[u8],
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        let body = std::str::from_utf8(body)
            .map_err(|error| Fault::bad(locale::provider::not_text(error)))?;
        self.reader.whole(body, events)
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod transcript;
