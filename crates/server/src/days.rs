//! After a day, the default model reads once what was noted and said on it, and proposes what to remember
//! for long (MD-14): a turn in memory, without tools, with a budget.

use std::sync::Arc;
use std::time::Duration;

use jiff::civil::Date;
use samovar_config::Consolidate;
use samovar_core::audit::{Decision, What};
use samovar_core::history::ExchangeQuery;
use samovar_core::provider::ModelKind;
use samovar_core::{
    Beginner, Budget, Clock, Code, Delivery, Error, FinishReason, Kind, Limits, Model, Role, Sender,
};
use samovar_engine::{
    Beginning, Conversation, Engine, FollowError, Guidance, Guide, Recovery, Settings, Toolbox,
};
use samovar_memory::{Memories, MemoryId, PartOfDay};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::State;
use crate::clock::SystemClock;
use crate::config::MemoryConfig;

/// Exchanges that are looked through for the day, the newest.
const MAX_EXCHANGES: u32 = 500;
/// What one turn may use, in tokens.
const MAX_TOKENS: u64 = 40_000;
/// How long after a failure it is tried again.
const LATER: Duration = Duration::from_hours(1);
/// What decided, as the audit names it.
const RULE: &str = "consolidate";

/// The work on days that are over.
#[derive(Default)]
pub(crate) struct Days {
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Days {
    /// Begins, unless that is off or the process is no server.
    pub(crate) fn begin(&self, engine: &Arc<Engine>, state: &Arc<State>, set: &MemoryConfig) {
        let is_server = engine.settings().recovery == Recovery::EverySession;
        let guide = state.guide.get().filter(|_| is_server);
        let Some(guide) = guide.filter(|_| set.consolidate != Consolidate::Off) else {
            return;
        };
        let mut worker = Worker {
            engine: engine.clone(),
            state: state.clone(),
            memories: guide.memories.clone(),
            is_auto: set.consolidate == Consolidate::Auto,
            seen: None,
        };
        let (every, stop) = (set.day_check, self.stop.clone());
        self.tasks.spawn(async move {
            let working = async {
                let mut pause = every;
                loop {
                    tokio::time::sleep(pause).await;
                    pause = worker.look().await.map_or_else(
                        |error| {
                            tracing::warn!(%error, "nothing is proposed out of the last day yet");
                            LATER.max(every)
                        },
                        |()| every,
                    );
                }
            };
            stop.run_until_cancelled(working).await;
        });
    }

    /// Ends; a turn that runs is dropped, and another start makes it again.
    pub(crate) async fn end(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

struct Worker {
    engine: Arc<Engine>,
    state: Arc<State>,
    memories: Arc<Memories>,
    is_auto: bool,
    /// The day on which nothing was left to do.
    seen: Option<Date>,
}

impl Worker {
    /// Looks whether a day is over, while no turn runs.
    async fn look(&mut self) -> Result<(), Error> {
        let today = self.memories.today();
        if self.seen == Some(today) || self.engine.numbers().turns_running > 0 {
            return Ok(());
        }
        let mut ids = self.engine.exchange_ids(MAX_EXCHANGES).await?;
        ids.retain(|id| id.begun_by == Beginner::Owner);
        let said = self.engine.exchanges(ExchangeQuery::These(ids)).await?;
        let found = self.on_memories(move |it| Ok(it.past_day(&said))).await?;
        if let Some((day, parts)) = found {
            self.take(day, parts).await?;
        } else {
            self.seen = Some(today);
        }
        Ok(())
    }

    async fn take(&mut self, day: Date, parts: Vec<PartOfDay>) -> Result<(), Error> {
        let models = self.engine.models();
        let model = models.find(&models.default_name().await?).await?;
        // The rules are no language model: they would only repeat what they read.
        if model.kind == ModelKind::Demo {
            self.seen = Some(self.memories.today());
            return Ok(());
        }
        if !self.on_memories(move |it| it.begin_day(day)).await? {
            return Ok(());
        }
        for part in parts {
            let answer = self.ask(&model, part.text.clone()).await?;
            let is_auto = self.is_auto;
            let taken = self.on_memories(move |it| Ok(it.take_answer(&part, &answer, is_auto)));
            for id in taken.await? {
                self.record(&id).await?;
            }
        }
        self.on_memories(move |it| it.end_day(day)).await
    }

    /// One turn of a session in memory, which has nothing but this message.
    async fn ask(&self, model: &Model, text: String) -> Result<String, Error> {
        let session = self.engine.begin_in_memory(Beginning {
            model: model.route.clone(),
            toolbox: Arc::new(Toolbox::default()),
            settings: settings(self.engine.settings()),
            conversation: Conversation::default(),
        })?;
        let (_, after) = session.post(text, Delivery::Queue).await?;
        let (mut follower, mut answer) = (session.follow(after), String::new());
        loop {
            let events = follower.next().await.map_err(|lost| match lost {
                FollowError::Stopping => stopped("the server stops"),
                FollowError::Gone(_) | FollowError::Broken(_) => stopped(&lost.to_string()),
            })?;
            for event in &events {
                match &event.kind {
                    Kind::MessageFinished { message, .. } if message.role == Role::Assistant => {
                        answer = message.text();
                    }
                    Kind::TurnFinished {
                        reason: FinishReason::Error,
                        fault,
                        ..
                    } => {
                        let why = fault.as_ref().map(|fault| fault.message.clone());
                        return Err(stopped(&why.unwrap_or_default()));
                    }
                    Kind::TurnFinished { .. } => return Ok(answer),
                    _ => {}
                }
            }
        }
    }

    async fn record(&self, id: &MemoryId) -> Result<(), Error> {
        let by = Sender::Embedder;
        let decision = Decision::new(What::MemoryChanged, by.name(), SystemClock.now());
        let about = if self.memories.get(id).is_some() {
            "memory"
        } else {
            "proposal"
        };
        let decision = decision.about(format!("{about} {id}")).by_rule(RULE);
        self.state.record(decision).await
    }

    /// Does something with the memories, on a thread that may block.
    async fn on_memories<A: Send + 'static>(
        &self,
        run: impl FnOnce(&Memories) -> Result<A, String> + Send + 'static,
    ) -> Result<A, Error> {
        let memories = self.memories.clone();
        let done = tokio::task::spawn_blocking(move || run(&memories)).await;
        let done = done.unwrap_or_else(|error| Err(error.to_string()));
        done.map_err(|why| Error::new(Code::StoreFailed, why))
    }
}

/// The server's settings, for a turn that is told about this work alone.
fn settings(of_server: &Settings) -> Settings {
    let guide = Guide::new(|_| Guidance {
        soul: Some(Memories::prompt_for_days().to_owned()),
        agents: Some(String::new()),
        ..Guidance::default()
    });
    Settings {
        guide,
        workspace_note: String::new(),
        limits: Limits {
            max_iterations: 1,
            budget: Budget {
                tokens: Some(MAX_TOKENS),
                ..of_server.limits.budget
            },
            ..of_server.limits
        },
        ..of_server.clone()
    }
}

fn stopped(why: &str) -> Error {
    Error::new(Code::Unavailable, why.to_owned())
}
