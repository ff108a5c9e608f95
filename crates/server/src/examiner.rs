//! What the program that starts a server can find out for its owner.

use std::fmt;
use std::pin::Pin;

use futures_util::Stream;
use samovar_core::{Error, Future};
use samovar_wire::api::{DoctorReport, TestLine};

/// The lines of a test, as they come.
pub type TestLines = Pin<Box<dyn Stream<Item = TestLine> + Send>>;

/// Looks at a server and its models, as `samovar doctor` and `samovar models test` do.
pub trait Examiner: fmt::Debug + Send + Sync {
    /// Looks at everything that a turn needs, and changes nothing.
    fn doctor(&self) -> Future<'static, Result<DoctorReport, Error>>;

    /// Makes real calls of a model. The last line is [`TestLine::End`] or [`TestLine::Failed`].
    fn test_model(&self, name: String) -> TestLines;
}
