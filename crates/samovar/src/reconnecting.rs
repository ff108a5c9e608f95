//! A client of the data directory that outlives the server it talks to: it finds the next server,
//! or opens the directory in this process, and repeats a request where that is safe (FC-1).

use std::path::Path;
use std::time::Duration;

use samovar_locale as text;
use samovar_server::Config;
use samovar_wire::api::ServerInfo;
use tokio::time::Instant;

use crate::access::{self, Access, FOR_OTHERS, LOOK_EVERY, PATIENCE, Purpose};
use crate::client::Client;
use crate::exit::{Exit, Failure, ServerLoss};

/// How long a command that only looks follows holders that all leave before they answer.
const FOR_A_LOOK: Duration = Duration::from_mins(1);

/// How often a server is looked for that may come back.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Whether a question may be put to the next holder when nobody knows what the last made of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Put twice, it does what it does when it is put once.
    Harmless,
    /// It is put again only when it was not taken in for certain.
    Untaken,
}

/// The way, found when it is first needed.
pub(crate) struct Reconnecting {
    config: Config,
    purpose: Purpose,
    reached: Option<Access>,
}

impl Reconnecting {
    /// A way that nobody has gone yet.
    pub(crate) fn new(config: &Config, purpose: Purpose) -> Self {
        Self {
            config: config.clone(),
            purpose,
            reached: None,
        }
    }

    /// Asks whoever holds the data directory. A holder that leaves meanwhile is replaced.
    ///
    /// # Errors
    /// The answer, when it is a refusal; or that there is no way to the data directory.
    pub(crate) async fn ask<A>(
        &mut self,
        repeat: Repeat,
        question: impl AsyncFn(&Client) -> Result<A, Failure>,
    ) -> Result<A, Failure> {
        let mut search = Search::begin(self.purpose);
        loop {
            let (asked, answer) = match self.reached().await {
                Ok(reached) => (Instant::now(), question(&reached.client).await),
                Err(failure) => (Instant::now(), Err(failure)),
            };
            let gone = match &answer {
                Ok(_) => return answer,
                Err(failure) => failure.gone,
            };
            let is_safe = match gone {
                ServerLoss::No => false,
                ServerLoss::Untaken => true,
                ServerLoss::Unsure => repeat == Repeat::Harmless,
            };
            if self.is_here() || !is_safe || !search.goes_on(self.holder(), asked) {
                return answer;
            }
            tracing::debug!(?gone, "the holder of the data directory leaves");
            self.reached = None;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Leaves a holder that broke off, and waits for a server to come back. When none does, the next
    /// question opens the data directory in this process.
    pub(crate) async fn lose(&mut self, comes_back: Duration) {
        if self.is_here() {
            return;
        }
        self.reached = None;
        let until = Instant::now() + comes_back;
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            if Instant::now() >= until || access::running(&self.config).await.is_some() {
                return;
            }
        }
    }

    /// Closes what was opened: turns that run get their time to end, those of other commands too.
    pub(crate) async fn close(self) {
        if let Some(reached) = self.reached {
            reached.close().await;
        }
    }

    /// Closes what was opened, at once; turns that run are found by the next start.
    pub(crate) async fn close_now(self) {
        if let Some(reached) = self.reached {
            reached.close_now().await;
        }
    }

    async fn reached(&mut self) -> Result<&Access, Failure> {
        let found = match self.reached.take() {
            Some(found) => found,
            None => Box::pin(self.find()).await?,
        };
        Ok(self.reached.insert(found))
    }

    async fn find(&self) -> Result<Access, Failure> {
        let found = Access::data_dir(&self.config, self.purpose).await?;
        if found.is_elsewhere() && self.purpose == Purpose::Turns {
            check_workspace(&found.client, &self.config.workspace).await?;
        }
        Ok(found)
    }

    /// Whether this process has the data directory open.
    pub(crate) fn is_here(&self) -> bool {
        let reached = self.reached.as_ref();
        reached.is_some_and(|reached| !reached.is_elsewhere())
    }

    fn holder(&self) -> Option<&str> {
        let reached = self.reached.as_ref();
        reached.map(|reached| reached.client.authority())
    }
}

/// How long holders are followed: each for a moment, and all of them together.
struct Search {
    began: Instant,
    limit: Duration,
    holder: Option<String>,
    met: Instant,
}

impl Search {
    fn begin(purpose: Purpose) -> Self {
        let began = Instant::now();
        let limit = match purpose {
            Purpose::Rows => FOR_A_LOOK,
            Purpose::Turns => FOR_OTHERS,
        };
        Self {
            began,
            limit,
            holder: None,
            met: began,
        }
    }

    /// Whether it is worth to look again, after this holder was asked at that time and had no answer.
    fn goes_on(&mut self, holder: Option<&str>, asked: Instant) -> bool {
        if self.holder.as_deref() != holder {
            self.holder = holder.map(str::to_owned);
            self.met = asked;
        }
        self.met.elapsed() < PATIENCE && self.began.elapsed() < self.limit
    }
}

/// A server works in one folder; what a person asks in another is not for it.
async fn check_workspace(client: &Client, ours: &Path) -> Result<(), Failure> {
    let server: ServerInfo = client.get("/api/server").await?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real(Path::new(&server.workspace)) == real(ours) {
        return Ok(());
    }
    let why = text::run::workspace_differs(&server.workspace);
    Err(Failure::new(Exit::Busy, "workspace_differs", why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_holder_is_followed_for_a_moment_and_all_together_for_a_while() {
        let mut search = Search::begin(Purpose::Rows);
        let met = Instant::now();
        assert!(search.goes_on(Some("a"), met));
        tokio::time::advance(PATIENCE).await;
        assert!(!search.goes_on(Some("a"), met), "it has had its time");
        let mut followed = 0;
        for holder in ["b", "c"].into_iter().cycle().take(100) {
            let met = Instant::now();
            tokio::time::advance(PATIENCE / 2).await;
            if !search.goes_on(Some(holder), met) {
                break;
            }
            followed += 1;
        }
        assert!((10..100).contains(&followed), "{followed}");
    }
}
