//! Approvals: a person decides about calls of any session, and what waits too long is denied (TL-5).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use samovar_core::approval::{Answer, EXPIRED};
use samovar_core::audit::{self, What};
use samovar_core::{
    Accepted, Action, ApprovalId, Broken, Clock, Code, Command, Decision, Error, Grant, Millis,
    Rule, Sender, SessionId,
};
use samovar_locale as locale;
use tokio::sync::mpsc::WeakSender;
use tokio::sync::oneshot;

use super::{Bus, Engine, Mail, submit};
use crate::open_calls::{Awaited, CallWatch, OpenCall};
use crate::parts::{Parts, not_recorded};
use crate::runner::not_asked;
use crate::session::Letter;

/// Decisions that are remembered, for clients that decide a moment too late.
const MAX_DECIDED: usize = 1_000;
/// How long a denial that could not be kept waits until it is tried again.
const RETRY: Duration = Duration::from_secs(5);
/// The longest sleep: the wall clock may be set meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);

/// The last decisions, the oldest first.
#[derive(Clone, Default)]
pub(super) struct Decided(Arc<Mutex<VecDeque<(ApprovalId, Answer)>>>);

impl Decided {
    fn note(&self, approval: ApprovalId, answer: Answer) {
        let mut decided = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if decided.len() >= MAX_DECIDED {
            decided.pop_front();
        }
        decided.push_back((approval, answer));
    }

    /// The refusal of a decision that came too late, if the first is remembered.
    fn refusal(&self, approval: &ApprovalId) -> Option<Error> {
        let decided = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, first) = decided.iter().rev().find(|(id, _)| id == approval)?;
        let why = locale::approval::decided(first.decision.as_str(), locale::quoted(&first.by));
        Some(Error::new(Code::ApprovalDecided, why))
    }
}

impl Engine {
    /// The calls that wait for a person's decision, oldest first.
    ///
    /// # Errors
    /// [`Code::Internal`] when a store cannot be read.
    pub async fn approvals(&self) -> Result<Vec<OpenCall>, Error> {
        let mut open = self.open_calls().await?;
        open.retain(|open| open.asked.is_some());
        Ok(open)
    }

    /// Why a decision about this comes too late, or is about nothing.
    pub fn decided(&self, approval: &ApprovalId) -> Error {
        let first = self.decided.refusal(approval);
        first.unwrap_or_else(|| not_asked(approval))
    }

    /// Takes a person's decision about a call. The first counts. `Always` then makes a rule, which is
    /// answered, and is made also when the caller has gone; if the server stops in
    /// between, the call runs and there is no rule.
    ///
    /// # Errors
    /// [`Code::UnknownApproval`] when no call waits for it; [`Code::ApprovalDecided`] when somebody
    /// was faster; [`Code::InvalidParams`] when the call can only be allowed once; what
    /// [`Engine::submit`] refuses.
    pub async fn decide(
        &self,
        by: Sender,
        approval: ApprovalId,
        answer: Answer,
    ) -> Result<Option<Rule>, Error> {
        let gone = || self.decided(&approval);
        let awaited = Awaited::Decision(approval.clone());
        let session = self.session_of(&awaited).await?.ok_or_else(gone)?;
        let mut open = self.open_calls().await?.into_iter();
        let open = open.find(|open| open.is(&awaited)).ok_or_else(gone)?;
        let grant = open.asked.as_ref().and_then(|asked| asked.grant.clone());
        let wanted = asked_for(grant, &answer)?;
        let action = Action::Decide {
            approval: approval.clone(),
            answer: answer.clone(),
        };
        let command = Command {
            by,
            session,
            action,
        };
        let (parts, bus, decided) = (self.parts.clone(), self.bus.clone(), self.decided.clone());
        let noted = approval.clone();
        let deciding = self.tasks.spawn(async move {
            submit(&parts, &bus, command).await?;
            decided.note(noted, answer);
            make_rule(&parts, wanted).await
        });
        match deciding.await {
            Ok(Err(error)) if error.code == Code::UnknownApproval => Err(gone()),
            Ok(Err(error)) if error.code == Code::UnknownSession => Err(gone()),
            Ok(decided) => decided,
            Err(error) => Err(Error::new(Code::Internal, error.to_string())),
        }
    }
}

/// What an `Always` will allow for good.
///
/// # Errors
/// [`Code::InvalidParams`] when the call can only be allowed once.
pub(super) fn asked_for(
    grant: Option<Grant>,
    answer: &Answer,
) -> Result<Option<(Grant, String)>, Error> {
    match (answer.decision, grant) {
        (Decision::Always, Some(grant)) => Ok(Some((grant, answer.by.clone()))),
        (Decision::Turn | Decision::Always, None) => {
            let why = locale::approval::only_once(answer.decision.as_str());
            Err(Error::new(Code::InvalidParams, why))
        }
        (Decision::Once | Decision::Turn | Decision::Deny, _) => Ok(None),
    }
}

/// Makes the rule of an `Always` that counts, and records it if it is new. The decision is kept before, so
/// that no rule is in force without one; meanwhile it covers its turn.
///
/// # Errors
/// What saving or the audit said: no rule was made, or it is in force and not recorded.
pub(super) async fn make_rule(
    parts: &Arc<Parts>,
    wanted: Option<(Grant, String)>,
) -> Result<Option<Rule>, Error> {
    let Some((grant, by)) = wanted else {
        return Ok(None);
    };
    let of_task = parts.clone();
    // Saving may block.
    let saved = tokio::task::spawn_blocking(move || {
        let (now, ids) = (of_task.clock.now(), of_task.ids.as_ref());
        of_task.settings.rules.make(grant, by, now, ids)
    });
    let saved = saved.await;
    let saved = saved.unwrap_or_else(|error| Err(Error::new(Code::Internal, error.to_string())));
    let (rule, is_new) = saved.map_err(|error| {
        let why = locale::approval::no_rule(&error.message);
        Error::new(error.code, why)
    })?;
    if is_new {
        let decision = audit::Decision::new(What::RuleMade, &rule.by, rule.made_at);
        let recorded = record(parts, decision.about_rule(&rule)).await;
        recorded.map_err(|broken| not_recorded(&broken))?;
    }
    Ok(Some(rule))
}

async fn record(parts: &Parts, decision: audit::Decision) -> Result<(), Broken> {
    parts.audit.append(vec![decision]).await?;
    parts.audit.sync().await.map(drop)
}

/// Denies what waits longer than it may, until the engine or the session ends.
pub(super) struct Expiry {
    watch: CallWatch,
    clock: Arc<dyn Clock>,
    to: Recipient,
}

/// Where denials go; nothing is kept alive by it.
enum Recipient {
    Bus(Weak<Bus>),
    /// A session in memory.
    Mail(WeakSender<Letter>),
}

impl Recipient {
    /// What became of a command; `None` when the recipient is gone.
    async fn submit(&self, command: Command) -> Option<Result<Accepted, Error>> {
        match self {
            Self::Bus(bus) => Some(bus.upgrade()?.submit(command).await),
            Self::Mail(mail) => {
                let (reply, accepted) = oneshot::channel();
                let letter = Letter::Command(Box::new(command), reply);
                let sent = mail.upgrade()?.send(letter).await;
                sent.ok()?;
                accepted.await.ok()
            }
        }
    }
}

impl Expiry {
    /// For the sessions in the stores.
    pub(super) fn of_bus(parts: &Parts, bus: &Arc<Bus>) -> Self {
        Self::new(parts, Recipient::Bus(Arc::downgrade(bus)))
    }

    /// For a session in memory.
    pub(super) fn of_mail(parts: &Parts, mail: &Mail) -> Self {
        Self::new(parts, Recipient::Mail(mail.downgrade()))
    }

    fn new(parts: &Parts, to: Recipient) -> Self {
        Self {
            watch: CallWatch::new(parts.open_calls.clone(), parts.stop.clone()),
            clock: parts.clock.clone(),
            to,
        }
    }

    /// Runs until then.
    pub(super) async fn run(mut self) {
        let mut waiting: HashMap<SessionId, BTreeMap<ApprovalId, Millis>> = HashMap::new();
        loop {
            let sleep = tokio::time::sleep(until_next(&waiting, self.clock.now()));
            // Both are safe to drop halfway: what a watcher was not told is told again.
            tokio::select! {
                changed = self.watch.next() => {
                    let Some(changed) = changed else { return };
                    for (session, open) in changed {
                        note(&mut waiting, session, open);
                    }
                }
                () = sleep => {
                    if self.deny_late(&mut waiting).await.is_none() {
                        return;
                    }
                }
            }
        }
    }

    /// `None` when the recipient is gone.
    async fn deny_late(
        &self,
        waiting: &mut HashMap<SessionId, BTreeMap<ApprovalId, Millis>>,
    ) -> Option<()> {
        if let Recipient::Mail(mail) = &self.to {
            mail.upgrade()?;
        }
        let now = self.clock.now();
        for (session, asked) in &mut *waiting {
            let late = asked.extract_if(.., |_, until| *until <= now);
            for (approval, _) in late.collect::<Vec<_>>() {
                if !self.deny(session, approval.clone()).await? {
                    let again = i64::try_from(RETRY.as_millis()).unwrap_or(i64::MAX);
                    asked.insert(approval, Millis(now.0.saturating_add(again)));
                }
            }
        }
        waiting.retain(|_, asked| !asked.is_empty());
        Some(())
    }

    /// Whether it is denied, or nothing waits for that any more.
    async fn deny(&self, session: &SessionId, approval: ApprovalId) -> Option<bool> {
        let answer = Answer {
            decision: Decision::Deny,
            by: EXPIRED.to_owned(),
            words: None,
        };
        let command = Command {
            by: Sender::Embedder,
            session: session.clone(),
            action: Action::Decide { approval, answer },
        };
        Some(match self.to.submit(command).await? {
            Ok(_) => true,
            Err(error) => match error.code {
                Code::UnknownApproval | Code::UnknownSession | Code::SessionDamaged => true,
                _ => {
                    tracing::warn!(%session, %error, "an approval that is over cannot be denied yet");
                    false
                }
            },
        })
    }
}

fn note(
    waiting: &mut HashMap<SessionId, BTreeMap<ApprovalId, Millis>>,
    session: SessionId,
    open: Vec<OpenCall>,
) {
    let asked = open.into_iter().filter_map(|open| open.asked);
    let asked = asked.map(|asked| (asked.id.clone(), asked.expires_at));
    let asked: BTreeMap<_, _> = asked.collect();
    if asked.is_empty() {
        waiting.remove(&session);
    } else {
        waiting.insert(session, asked);
    }
}

fn until_next(waiting: &HashMap<SessionId, BTreeMap<ApprovalId, Millis>>, now: Millis) -> Duration {
    let next = waiting.values().flat_map(BTreeMap::values).min();
    let left = next.map(|next| u64::try_from(next.0.saturating_sub(now.0)).unwrap_or_default());
    left.map_or(LONGEST_SLEEP, |left| {
        Duration::from_millis(left).min(LONGEST_SLEEP)
    })
}
