//! Reads answers that were recorded, without a network: what a program needs that looks into a
//! recording, or that holds the decoders against bytes of its own.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use samovar_core::error::FaultCode;
use samovar_core::{ProviderEvent, ToolSpec};

use crate::decoder::Decoder;
use crate::dialect::{Dialect, Progress};
use crate::specs::ProviderSpec;
use crate::text_calls;

/// What a recording says.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The events, up to the fault if there is one.
    pub events: Vec<ProviderEvent>,
    /// Why the answer is not whole.
    pub fault: Option<FaultCode>,
}

/// Reads the stream of an answer of a provider in its dialect, in the pieces in which it came.
pub fn read(dialect: &Dialect, spec: &'static ProviderSpec, pieces: &[&[u8]]) -> Recorded {
    let mut decoder = Decoder::new((dialect.reader)(spec));
    let mut events = Vec::new();
    for piece in pieces {
        if decoder.progress() == Progress::Over {
            break;
        }
        if let Err(fault) = decoder.read(Bytes::copy_from_slice(piece), &mut events) {
            let fault = Some(fault.code);
            return Recorded { events, fault };
        }
    }
    let fault = decoder.end(&mut events).err().map(|fault| fault.code);
    Recorded { events, fault }
}

/// The events of an answer in which calls of these tools may be written as text.
pub fn with_text_calls(
    events: Vec<ProviderEvent>,
    tools: Arc<[Arc<ToolSpec>]>,
) -> Vec<ProviderEvent> {
    let answer = Box::pin(stream::iter(events).map(|event| vec![event]));
    let told = text_calls::read_calls(answer, tools, Vec::new());
    // It waits for nothing but the events, which are there.
    let told = told.concat().now_or_never();
    told.unwrap_or_default()
}
