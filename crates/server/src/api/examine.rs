//! What a server finds out when its owner asks: one thing at a time, and not for ever.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use futures_util::{StreamExt, stream};
use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_wire::agent::{ErrorBody, NoParams};
use samovar_wire::api::{BASE_PATH, DoctorReport, TestLine, TestModelParams};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::state::{Call, Endpoint};
use crate::endpoint::Verb;
use crate::examiner::{Examiner, TestLines};
use crate::tokens::Scope;

/// How long a look at the server may take.
const DOCTOR_LASTS: Duration = Duration::from_mins(1);

/// How long the test of a model may take.
const TEST_LASTS: Duration = Duration::from_mins(5);

/// What examines, and the one place for it.
pub(crate) struct Examination {
    examiner: Option<Arc<dyn Examiner>>,
    place: Arc<Semaphore>,
}

impl Examination {
    pub(crate) fn new(examiner: Option<Arc<dyn Examiner>>) -> Self {
        Self {
            examiner,
            place: Arc::new(Semaphore::new(1)),
        }
    }

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

    async fn doctor(&self) -> Result<DoctorReport, Error> {
        let (examiner, _place) = self.begin()?;
        let late = |_| late(DOCTOR_LASTS);
        timeout(DOCTOR_LASTS, examiner.doctor())
            .await
            .map_err(late)?
    }

    fn test_model(&self, name: String) -> Result<TestLines, Error> {
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

pub(super) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    let post = &[Verb::Post];
    vec![
        Endpoint::answering(
            post,
            Scope::Admin,
            at("doctor"),
            "Looks at everything that a turn needs, and changes nothing.",
            doctor,
        ),
        Endpoint::streaming::<TestModelParams, TestLine, _>(
            at("models/test"),
            "Makes real calls of a model, and streams what each showed as JSON lines.",
            test_model,
        )
        .with_scope(Scope::Admin),
    ]
}

async fn doctor(call: Call, _params: NoParams) -> Result<DoctorReport, Error> {
    call.engine().await?;
    call.state.examination.doctor().await
}

async fn test_model(call: Call, params: TestModelParams) -> Result<Response<Body>, Error> {
    call.engine().await?;
    let lines = call.state.examination.test_model(params.name)?;
    let lines = lines.map(|line| {
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        Ok::<_, serde_json::Error>(text)
    });
    let mut response = Response::new(Body::from_stream(lines));
    let json_lines = HeaderValue::from_static("application/x-ndjson");
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, json_lines);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use samovar_core::Future;

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
        let examination = Examination::new(Some(Arc::new(Endless)));
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
        let examination = Examination::new(None);
        assert_eq!(
            examination.doctor().await.unwrap_err().code,
            Code::Unavailable
        );
    }
}
