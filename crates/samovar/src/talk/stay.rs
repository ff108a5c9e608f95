//! What a turn leaves at work: tasks in the background, and the turns that their results begin.

use std::time::Duration;

use samovar_core::{SessionId, TurnId};
use samovar_locale as text;
use samovar_wire::api::{TurnInfo, TurnProgress};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{LAST_WORDS, Source, Talk, TurnEnd, until};
use crate::client::{Client, segment};
use crate::exit::Failure;
use crate::reconnecting::Repeat;
use crate::screen::say;
use crate::stop::Stop;
use crate::view::View;

/// How often the tasks are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Turns of the session that are looked at: the last ones.
const LOOKED_AT: u32 = 200;

/// What the session does after a turn.
enum Next {
    /// Its next turn has begun, or is over already.
    Turn,
    /// Tasks are at work, or a turn is about to begin.
    Tasks,
    Nothing,
}

impl Talk {
    /// Shows the turns that follow a turn which began tasks in the background, each in a view of its
    /// own, until nothing of the session is at work. Asked to stop, or late, it stops all of it.
    ///
    /// # Errors
    /// As [`Talk::say`].
    pub(crate) async fn stay(
        &mut self,
        began: Option<&str>,
        make: impl Fn(&SessionId) -> View,
        stop: &mut Stop,
        deadline: Option<Instant>,
    ) -> Result<Vec<(View, TurnEnd)>, Failure> {
        let mut last = began.map(str::to_owned);
        let (mut ended, mut is_told) = (Vec::new(), false);
        loop {
            let turns = self.turns().await?;
            let later = after(&turns, last.as_deref());
            match next(&turns, &later) {
                Next::Nothing => return Ok(ended),
                Next::Turn => {
                    let mut view = make(&self.session.id);
                    let left = self.show_next(&later, &mut view, stop, deadline).await?;
                    let now = view.turn().map(str::to_owned);
                    let is_over = !matches!(left, TurnEnd::Ended(_)) || now == last;
                    last = now;
                    ended.push((view, left));
                    if is_over {
                        return Ok(ended);
                    }
                }
                Next::Tasks => {
                    if !std::mem::replace(&mut is_told, true) {
                        say(&text::run::tasks_at_work(at_work(&turns).count() as u64));
                        if turns.iter().any(|turn| turn.state == TurnProgress::Waiting) {
                            say(text::run::task_waits());
                        }
                    }
                    let left = tokio::select! {
                        () = tokio::time::sleep(LOOK_EVERY) => continue,
                        () = stop.asked() => TurnEnd::Asked,
                        () = until(deadline) => TurnEnd::Late,
                    };
                    self.stop_tasks().await;
                    ended.push((make(&self.session.id), left));
                    return Ok(ended);
                }
            }
        }
    }

    /// Shows the turn of the session that runs, and says how many of these ended before it.
    async fn show_next(
        &mut self,
        later: &[TurnId],
        view: &mut View,
        stop: &mut Stop,
        deadline: Option<Instant>,
    ) -> Result<TurnEnd, Failure> {
        let left = self.show(&Source::Running, view, stop, deadline).await?;
        let is_earlier = |id: &&TurnId| Some(id.as_str()) != view.turn();
        let missed = later.iter().take_while(is_earlier).count() as u64;
        if missed > 0 {
            say(&text::run::missed(missed, &self.session.id));
        }
        Ok(left)
    }

    /// Waits until a turn has begun after this one; forever if none will. Safe to drop halfway.
    pub(crate) async fn followed(&mut self, last: &str) {
        loop {
            let turns = self.turns().await.unwrap_or_default();
            match next(&turns, &after(&turns, Some(last))) {
                Next::Turn => return,
                Next::Tasks => tokio::time::sleep(LOOK_EVERY).await,
                Next::Nothing => std::future::pending().await,
            }
        }
    }

    /// Shows the turns that have begun after this one, and no longer waits for tasks.
    ///
    /// # Errors
    /// As [`Talk::say`].
    pub(crate) async fn show_followed(
        &mut self,
        last: &str,
        view: &mut View,
        stop: &mut Stop,
    ) -> Result<Option<TurnEnd>, Failure> {
        let turns = self.turns().await?;
        let later = after(&turns, Some(last));
        match next(&turns, &later) {
            Next::Turn => self.show_next(&later, view, stop, None).await.map(Some),
            Next::Tasks | Next::Nothing => Ok(None),
        }
    }

    /// Whether another process has the session's turns.
    pub(crate) fn is_served(&self) -> bool {
        !self.way.is_here()
    }

    /// Says what the server is doing, and how to see it.
    ///
    /// # Errors
    /// As [`Talk::ask`].
    pub(crate) async fn say_left(&mut self) -> Result<(), Failure> {
        let turns = self.turns().await?;
        let at_work = at_work(&turns).count() as u64;
        if at_work > 0 {
            say(&text::run::detached(at_work, &self.session.id));
        }
        Ok(())
    }

    /// Stops what the session has at work, also the turns that the results of its tasks begin.
    pub(crate) async fn stop_tasks(&mut self) {
        let stopping = async {
            loop {
                let turns = self.turns().await?;
                let open: Vec<_> = at_work(&turns).map(|turn| turn.turn_id.clone()).collect();
                if open.is_empty() {
                    return Ok::<_, Failure>(());
                }
                for turn in open {
                    let path = format!("/api/turns/{}/cancel", segment(turn.as_str()));
                    let asked =
                        async |client: &Client| client.post::<Value>(&path, &json!({})).await;
                    self.way.ask(Repeat::Harmless, asked).await?;
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        match tokio::time::timeout(LAST_WORDS, stopping).await {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => tracing::debug!(?failure, "tasks may still be at work"),
            Err(_) => tracing::debug!("tasks are still at work"),
        }
    }

    /// Whether the last turn of the session waits for another to end.
    pub(super) async fn is_queued(&mut self) -> bool {
        let turns = self.turns().await.unwrap_or_default();
        let mut own = turns.iter().filter(|turn| turn.depth == 0).rev();
        let is_waiting = own
            .next()
            .is_some_and(|last| last.state == TurnProgress::Queued);
        is_waiting && own.any(|turn| turn.state != TurnProgress::Finished)
    }

    async fn turns(&mut self) -> Result<Vec<TurnInfo>, Failure> {
        let session = segment(self.session.id.as_str());
        let path = format!("/api/turns?limit={LOOKED_AT}&sessionId={session}");
        let asked = async |client: &Client| client.get(&path).await;
        self.way.ask(Repeat::Harmless, asked).await
    }
}

/// The turns of the session's own agent after one of them, oldest first.
fn after(turns: &[TurnInfo], last: Option<&str>) -> Vec<TurnId> {
    let own = turns.iter().filter(|turn| turn.depth == 0);
    let later = own.skip_while(|turn| Some(turn.turn_id.as_str()) != last);
    later.skip(1).map(|turn| turn.turn_id.clone()).collect()
}

fn next(turns: &[TurnInfo], later: &[TurnId]) -> Next {
    let has_begun = |turn: &TurnInfo| turn.state != TurnProgress::Queued;
    let next = later.first();
    let next = turns.iter().find(|turn| Some(&turn.turn_id) == next);
    match next {
        Some(turn) if has_begun(turn) => Next::Turn,
        Some(_) => Next::Tasks,
        None if at_work(turns).next().is_some() => Next::Tasks,
        None => Next::Nothing,
    }
}

fn at_work(turns: &[TurnInfo]) -> impl Iterator<Item = &TurnInfo> {
    let open = turns.iter();
    open.filter(|turn| turn.state != TurnProgress::Finished)
}
