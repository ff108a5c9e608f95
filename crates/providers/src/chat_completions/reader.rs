//! The events of a stream, and answers in one piece, as pieces of JSON.

use samovar_core::ProviderEvent;
use samovar_locale as locale;

use super::chunk::Chunk;
use super::reply::Reply;
use crate::decoder::{Progress, Reader};
use crate::fault::Fault;

impl Reader for Reply {
    fn take(
        &mut self,
        name: Option<&str>,
        data: &str,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        match (name, data) {
            (Some("error"), data) => Err(Fault::inside(data)),
            (_, "") => Ok(()),
            (_, "[DONE]") => self.finish(events),
            (_, data) => self.add(Chunk::read(data)?, events),
        }
    }

    fn whole(&mut self, body: &str, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.add(Chunk::read(body)?, events)?;
        match self.progress() {
            Progress::Speaking => Err(Fault::bad(locale::provider::no_answer())),
            Progress::Said | Progress::Over => self.finish(events),
        }
    }

    fn end(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.finish(events)
    }

    fn progress(&self) -> Progress {
        match (self.is_over(), self.is_finished()) {
            (true, _) => Progress::Over,
            (false, true) => Progress::Said,
            (false, false) => Progress::Speaking,
        }
    }
}

#[cfg(test)]
mod tests;
