//! What the program that starts a server can find out for its owner: one thing at a time, and not for
//! ever.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use samovar_core::{Code, Error, Future};
use samovar_locale as locale;
use samovar_wire::agent::ErrorBody;
use samovar_wire::api::{DoctorReport, TestLine};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

/// The lines of a test, as they come.
pub type TestLines = Pin<Box<dyn Stream<Item = TestLine> + Send>>;

/// Looks at a server and its models, as `samovar doctor` and `samovar models test` do.
pub trait Examiner: fmt::Debug + Send + Sync {
    /// Looks at everything that a turn needs, and changes nothing.
    fn doctor(&self) -> Future<'static, Result<DoctorReport, Error>>;

    /// Makes real calls of a model. The last line is [`TestLine::End`] or [`TestLine::Failed`].
    fn test_model(&self, name: String) -> TestLines;
}

/// How long a look at the server may take.
const DOCTOR_LASTS: Duration = Duration::from_mins(1);

/// How long the test of a model may take.
const TEST_LASTS: Duration = Duration::from_mins(5);

/// What examines, and the one place for it.
pub(crate) struct Examination {
    examiner: Option<Arc<dyn Examiner>>,
    place: Arc<Semaphore>,
}

impl From<Option<Arc<dyn Examiner>>> for Examination {
    fn from(examiner: Option<Arc<dyn Examiner>>) -> Self {
        Self {
            examiner,
            place: Arc::new(Semaphore::new(1)),
        }
    }
}

impl Examination {
    /// Who examines, while the place is held.
    ///
    /// # Errors
    /// [`Code::Unavailable`] when the program has none; [`Code::Busy`] when one is being made.
    fn begin(&self) -> Result<(Arc<dyn Examiner>, OwnedSemaphorePermit), Error> {
        let examiner = self.examiner.clone().ok_or_else(|| {
            let why = locale::examine::none();
            Error::new(Code::Unavailable, why)
        })?;
        let place = self.place.clone().try_acquire_owned().map_err(|_| {
            let why = locale::examine::busy();
            Error::new(Code::Busy, why)
        })?;
        Ok((examiner, place))
    }

    pub(crate) async fn doctor(&self) -> Result<DoctorReport, Error> {
        let (examiner, _place) = self.begin()?;
        let late = |_| late(DOCTOR_LASTS);
        timeout(DOCTOR_LASTS, examiner.doctor())
            .await
            .map_err(late)?
    }

    pub(crate) fn test_model(&self, name: String) -> Result<TestLines, Error> {
        let (examiner, place) = self.begin()?;
        let until = Instant::now() + TEST_LASTS;
        let begun = Some((examiner.test_model(name), place));
        Ok(Box::pin(stream::unfold(begun, move |begun| async move {
            let (mut lines, place) = begun?;
            match timeout_at(until, lines.next()).await {
                Ok(line) => Some((line?, Some((lines, place)))),
                Err(_) => Some((TestLine::Failed(ErrorBody::from(&late(TEST_LASTS))), None)),
            }
        })))
    }
}

fn late(lasts: Duration) -> Error {
    let why = locale::examine::late(lasts.as_secs() / 60);
    Error::new(Code::Unavailable, why)
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    /// Never comes to an end.
    #[derive(Debug)]
    struct Endless;

    impl Examiner for Endless {
        fn doctor(&self) -> Future<'static, Result<DoctorReport, Error>> {
            Box::pin(pending())
        }

        fn test_model(&self, _name: String) -> TestLines {
            let first = stream::once(async { TestLine::End { ok: true } });
            Box::pin(first.chain(stream::pending()))
        }
    }

    fn code(line: Option<TestLine>) -> String {
        match line {
            Some(TestLine::Failed(why)) => why.code,
            other => panic!("{other:?}"),
        }
    }

    // proves FC-7
    #[tokio::test(start_paused = true)]
    async fn an_examination_has_an_end_and_no_second_one_begins_beside_it() {
        let examination = Examination::from(Some(Arc::new(Endless) as Arc<dyn Examiner>));
        let began = Instant::now();
        assert_eq!(
            examination.doctor().await.unwrap_err().code,
            Code::Unavailable
        );
        assert_eq!(began.elapsed(), DOCTOR_LASTS);

        let mut lines = examination.test_model("m".to_owned()).unwrap();
        assert_eq!(lines.next().await, Some(TestLine::End { ok: true }));
        assert_eq!(examination.doctor().await.unwrap_err().code, Code::Busy);
        let second = examination.test_model("m".to_owned());
        assert_eq!(second.map(drop).unwrap_err().code, Code::Busy);
        assert_eq!(code(lines.next().await), "unavailable");
        assert_eq!(lines.next().await, None);

        // The client of this one leaves.
        drop(examination.test_model("m".to_owned()).unwrap());
        drop(examination.test_model("m".to_owned()).unwrap());
    }

    // proves FC-7
    #[tokio::test]
    async fn a_program_that_brings_no_examiner_says_so() {
        let examination = Examination::from(None);
        assert_eq!(
            examination.doctor().await.unwrap_err().code,
            Code::Unavailable
        );
    }
}
