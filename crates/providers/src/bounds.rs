//! What every dialect asks of an answer: how long it may be, and ids that tell its calls apart.

use samovar_locale as locale;

use crate::fault::Fault;

/// How long an answer may be in all, in bytes: text, reasoning and arguments.
pub(crate) const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// How many calls one answer may ask for.
pub(crate) const MAX_CALLS: usize = 512;

/// How long the arguments of one call may be, in bytes.
pub(crate) const MAX_ARGS_BYTES: usize = 4 * 1024 * 1024;

/// How long an answer is so far.
#[derive(Default)]
pub(crate) struct Length(usize);

impl Length {
    /// Adds what came.
    ///
    /// # Errors
    /// Together it is more than [`MAX_ANSWER_BYTES`].
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Fault> {
        self.0 += bytes;
        if self.0 > MAX_ANSWER_BYTES {
            let why = locale::provider::answer_too_large(MAX_ANSWER_BYTES as u64);
            return Err(Fault::too_large(why));
        }
        Ok(())
    }
}

/// Checks that one more call may begin.
///
/// # Errors
/// There are [`MAX_CALLS`] already.
pub(crate) fn one_more_call(calls: usize) -> Result<(), Fault> {
    if calls >= MAX_CALLS {
        let why = locale::provider::too_many_calls(MAX_CALLS as u64);
        return Err(Fault::too_large(why));
    }
    Ok(())
}

/// Adds to the arguments of a call.
///
/// # Errors
/// Together they have more than [`MAX_ARGS_BYTES`].
pub(crate) fn extend_args(args: &mut String, more: &str) -> Result<(), Fault> {
    if args.len() + more.len() > MAX_ARGS_BYTES {
        let why = locale::provider::args_too_large(MAX_ARGS_BYTES as u64);
        return Err(Fault::too_large(why));
    }
    args.push_str(more);
    Ok(())
}

/// An id for the call at this place: the server's, unless it gives none or one that another call
/// has, which servers do; else the place.
pub(crate) fn free_id(given: Option<&str>, at: usize, is_taken: impl Fn(&str) -> bool) -> String {
    let given = given.filter(|id| !id.is_empty()).map(str::to_owned);
    let places = (at..).take(MAX_CALLS + 1).map(|place| place.to_string());
    let mut ids = given.into_iter().chain(places);
    ids.find(|id| !is_taken(id)).unwrap_or_default()
}
