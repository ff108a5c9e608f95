//! The questions that wait for the person, oldest first, and those who wait for what they say.

use std::collections::VecDeque;
use std::sync::Weak;

use samovar_core::{
    Answer, ApprovalId, CallId, Code, Error, Outcome, PendingInput, Sender, TurnId, planted,
};
use samovar_engine::{Engine, MemorySession};
use samovar_locale as locale;
use tokio::sync::oneshot;

/// Questions that wait at once, at most.
const MAX_QUESTIONS: usize = 16 * 1024;
/// Questions of this program itself whose answers nobody has fetched, at most; and who listens.
const MAX_WAITERS: usize = 1_024;

/// A question that waits for an answer.
struct Question {
    /// The message that asks.
    id: u64,
    author: String,
    asker: Asker,
    /// Whether somebody's words are being kept as its answer.
    is_taken: bool,
    /// Whether nobody waits for it any more, while its answer is being kept.
    is_gone: bool,
}

impl Question {
    fn asks_to_decide(&self) -> bool {
        matches!(&self.asker, Asker::Call(call) if call.approval.is_some())
    }
}

/// Who hears the answer.
enum Asker {
    /// Part of this program.
    Waiter(oneshot::Sender<String>),
    /// A call of a turn.
    Call(AskingCall),
}

/// Where the turns are that ask.
#[derive(Clone)]
pub(crate) enum AskingTurns {
    /// In the sessions of an engine, which last longer than the chat.
    Engine(Weak<Engine>),
    /// In a session of the chat's own agent.
    Session(Weak<MemorySession>),
}

impl AskingTurns {
    async fn settle(&self, call: CallId, outcome: Outcome) -> Result<(), Error> {
        let stopping = || Error::new(Code::Unavailable, locale::server::stopping());
        match self {
            Self::Engine(engine) => {
                let engine = engine.upgrade().ok_or_else(stopping)?;
                engine.settle(Sender::Embedder, call, outcome).await
            }
            Self::Session(session) => {
                let session = session.upgrade().ok_or_else(stopping)?;
                session.settle(call, outcome).await
            }
        }
    }

    async fn decide(&self, approval: ApprovalId, answer: Answer) -> Result<(), Error> {
        let stopping = || Error::new(Code::Unavailable, locale::server::stopping());
        match self {
            Self::Engine(engine) => {
                let engine = engine.upgrade().ok_or_else(stopping)?;
                let decided = engine.decide(Sender::Embedder, approval, answer).await;
                decided.map(drop)
            }
            Self::Session(session) => {
                let session = session.upgrade().ok_or_else(stopping)?;
                session.decide(approval, answer).await
            }
        }
    }
}

/// A call that asks.
#[derive(Clone)]
pub(crate) struct AskingCall {
    pub(crate) turns: AskingTurns,
    pub(crate) turn: TurnId,
    pub(crate) call: CallId,
    /// What the person is to decide about the call; `None` if the answer is its outcome.
    pub(crate) approval: Option<ApprovalId>,
}

/// The person whose words are posted.
#[derive(Clone, Debug)]
pub struct Voice {
    /// The name for the record of what they decide.
    pub name: String,
    /// Whether they may decide about calls.
    pub approves: bool,
}

impl AskingCall {
    /// Keeps the answer in the session that asked. True when it is kept, false when nobody waits for
    /// it any more.
    ///
    /// # Errors
    /// The answer could not be kept; the question still waits.
    pub(crate) async fn settle(&self, text: String, by: &str) -> Result<bool, Error> {
        let Some(approval) = self.approval.clone() else {
            return self.close(Outcome::done(text)).await;
        };
        kept(self.turns.decide(approval, Answer::read(&text, by)).await)
    }

    /// Tells the model that its question cannot be asked.
    pub(crate) async fn refuse(&self, why: &Error) {
        // Other clients can decide.
        if self.approval.is_some() {
            return tracing::warn!(call = %self.call, error = %why, "the chat cannot ask about a call");
        }
        if let Err(error) = self.close(Outcome::failed(why.message.clone())).await {
            tracing::warn!(call = %self.call, %error, "a question that cannot be asked stays open");
        }
    }

    async fn close(&self, outcome: Outcome) -> Result<bool, Error> {
        kept(self.turns.settle(self.call.clone(), outcome).await)
    }
}

fn kept(answered: Result<(), Error>) -> Result<bool, Error> {
    match answered {
        Ok(()) => Ok(true),
        Err(error) if is_gone(error.code) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_gone(code: Code) -> bool {
    matches!(
        code,
        Code::UnknownCall
            | Code::UnknownApproval
            | Code::ApprovalDecided
            | Code::UnknownSession
            | Code::SessionDamaged
    )
}

/// All that waits for the person.
#[derive(Default)]
pub(crate) struct Questions {
    open: VecDeque<Question>,
    /// Answers, there or to come, of questions that part of this program asked and did not fetch.
    unfetched: VecDeque<Unfetched>,
    /// Who waits without a question.
    listeners: VecDeque<Listener>,
    last_listener: u64,
}

/// An answer that is to be fetched.
pub(crate) struct Unfetched {
    pub(crate) question: u64,
    author: String,
    pub(crate) answer: oneshot::Receiver<String>,
}

struct Listener {
    number: u64,
    sender: oneshot::Sender<String>,
}

impl Questions {
    /// Refuses what there is no room for.
    pub(crate) fn check_room(&self) -> Result<(), Error> {
        check_bound(self.open.len(), MAX_QUESTIONS)
    }

    /// Refuses a question of this program itself that there is no room for.
    pub(crate) fn check_waiters(&self) -> Result<(), Error> {
        self.check_room()?;
        check_bound(self.unfetched.len(), MAX_WAITERS)
    }

    /// Part of this program has asked.
    pub(crate) fn ask(&mut self, id: u64, author: String) {
        let (sender, answer) = oneshot::channel();
        self.unfetched.push_back(Unfetched {
            question: id,
            author: author.clone(),
            answer,
        });
        self.push(id, author, Asker::Waiter(sender));
    }

    /// A call has asked.
    pub(crate) fn ask_for(&mut self, id: u64, author: String, call: AskingCall) {
        self.push(id, author, Asker::Call(call));
    }

    fn push(&mut self, id: u64, author: String, asker: Asker) {
        self.open.push_back(Question {
            id,
            author,
            asker,
            is_taken: false,
            is_gone: false,
        });
    }

    /// What the next words of the person answer, as everybody sees it.
    pub(crate) fn pending(&self) -> Option<PendingInput> {
        let question = self.open.front()?;
        Some(PendingInput {
            requested_by: question.author.clone(),
            question: question.id,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Takes the oldest question out that nobody is answering, if part of this program asked it; one
    /// of a call stays in its place until its answer is kept. What asks for a decision is passed over
    /// for a person who may not decide. With `only` it is this question or none.
    pub(crate) fn take(&mut self, approves: bool, only: Option<u64>) -> Option<AnsweredQuestion> {
        // What is said while a decision is kept may be the same words, sent again.
        let decides = |question: &Question| question.is_taken && question.asks_to_decide();
        let approves = approves && (only.is_some() || !self.open.iter().any(decides));
        let may_answer = |question: &Question| approves || !question.asks_to_decide();
        let is_it = |question: &Question| only.is_none_or(|only| question.id == only);
        let is_next =
            |question: &Question| !question.is_taken && may_answer(question) && is_it(question);
        let at = self.open.iter().position(is_next)?;
        let question = &mut self.open[at];
        if let Asker::Call(call) = &question.asker {
            let taken = AnsweredQuestion::Call(question.id, call.clone());
            question.is_taken = true;
            planted!("answers-swapped", {
                let (asked, mut others) = (self.open[at].id, self.open.iter().rev());
                let other = others.find_map(|question| match &question.asker {
                    Asker::Call(call) => Some(call.clone()),
                    Asker::Waiter(_) => None,
                });
                return other.map(|call| AnsweredQuestion::Call(asked, call));
            });
            return Some(taken);
        }
        match self.open.remove(at)? {
            Question {
                id,
                asker: Asker::Waiter(waiter),
                ..
            } => Some(AnsweredQuestion::Waiter(id, waiter)),
            Question {
                asker: Asker::Call(_),
                ..
            } => None,
        }
    }

    /// Tells it to the oldest who listens; whether anybody does.
    pub(crate) fn tell_listener(&mut self, text: &str) -> bool {
        while let Some(listener) = self.listeners.pop_front() {
            if listener.sender.send(text.to_owned()).is_ok() {
                return true;
            }
        }
        false
    }

    /// Lets somebody else answer; whether nobody waits for that any more.
    pub(crate) fn put_back(&mut self, id: u64) -> bool {
        let Some(question) = self.open.iter_mut().find(|question| question.id == id) else {
            return false;
        };
        question.is_taken = false;
        question.is_gone
    }

    /// Whether a call asks it.
    pub(crate) fn is_of_call(&self, id: u64) -> bool {
        let mut open = self.open.iter();
        let question = open.find(|question| question.id == id);
        question.is_some_and(|question| matches!(question.asker, Asker::Call(_)))
    }

    /// Removes a question; whether it was there.
    pub(crate) fn remove(&mut self, id: u64) -> bool {
        let before = self.open.len();
        self.open.retain(|question| question.id != id);
        self.unfetched.retain(|unfetched| unfetched.question != id);
        self.open.len() < before
    }

    /// A call asks no longer: its question, unless that is being answered, and then whoever does that
    /// hears of it.
    pub(crate) fn gone(&mut self, call: &CallId) -> Option<u64> {
        let asks = |question: &&mut Question| matches!(&question.asker, Asker::Call(asking) if asking.call == *call);
        let found = self.open.iter_mut().find(asks)?;
        found.is_gone = true;
        (!found.is_taken).then_some(found.id)
    }

    /// Whether an answer to a question of this turn is being kept.
    pub(crate) fn is_answering(&self, turn: &TurnId) -> bool {
        let of_turn = |question: &Question| matches!(&question.asker, Asker::Call(asking) if asking.turn == *turn);
        self.open
            .iter()
            .any(|question| question.is_taken && of_turn(question))
    }

    /// The answer to the author's oldest question that was not fetched, there or to come.
    pub(crate) fn fetch(&mut self, author: &str) -> Option<Unfetched> {
        let own = |unfetched: &Unfetched| unfetched.author == author;
        let at = self.unfetched.iter().position(own)?;
        self.unfetched.remove(at)
    }

    /// What is said next without being an answer; the number is for [`Questions::leave`].
    ///
    /// # Errors
    /// Too many listen.
    pub(crate) fn listen(&mut self) -> Result<(u64, oneshot::Receiver<String>), Error> {
        self.listeners.retain(|one| !one.sender.is_closed());
        check_bound(self.listeners.len(), MAX_WAITERS)?;
        let (sender, heard) = oneshot::channel();
        self.last_listener += 1;
        let number = self.last_listener;
        self.listeners.push_back(Listener { number, sender });
        Ok((number, heard))
    }

    /// Listens no more.
    pub(crate) fn leave(&mut self, number: u64) {
        self.listeners.retain(|one| one.number != number);
    }

    /// Nobody will be answered any more.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

fn check_bound(there_are: usize, max: usize) -> Result<(), Error> {
    if there_are < max {
        return Ok(());
    }
    let why = locale::global_chat::too_many_questions(max as u64);
    Err(Error::new(Code::Busy, why))
}

/// A question that somebody's words answer.
pub(crate) enum AnsweredQuestion {
    /// It is answered with the same stroke.
    Waiter(u64, oneshot::Sender<String>),
    /// Its answer is kept first.
    Call(u64, AskingCall),
}
