//! The chat itself: who may say what, and who hears it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::command::is_blank;
use samovar_core::redact;
use samovar_core::{
    CallId, ChatMessage, ChatMeta, ChatRole, Clock, Code, Error, PendingInput, Sender, TurnId,
    failpoint, planted,
};
use samovar_locale as locale;
use tokio::sync::{Notify, watch};
use tokio_util::task::TaskTracker;

use crate::drafts::{by_user, check_author, check_meta, noted, withdrawn};
use crate::log::{Bounds, Draft, Log, Page};
use crate::questions::{AnsweredQuestion, AskingCall, Questions, Voice};
use crate::reader::Reader;

#[cfg(test)]
mod tests;

/// Bytes of a message, at most.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Reasons to wake the agent that wait, at most; the oldest go, and are seen as what was said before.
const MAX_WAKES: usize = 256;

/// The author of what the person says.
pub const USER: &str = "user";
/// The author of the chat's own notes.
pub const CHAT_AGENT: &str = "ChatAgent";
/// The author of what the chat's own agent says.
pub const ADAPTIVE_AGENT: &str = "AdaptiveAgent";

/// The one chat of a server, in memory alone (CH-1). A clone is another handle on it.
#[derive(Clone)]
pub struct Chat(Arc<Inner>);

/// What a chat is made from.
pub struct ChatParts {
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// The name of this run of the chat: ids of another run mean nothing in this one.
    pub boot: String,
    /// How much it keeps.
    pub bounds: Bounds,
    /// Whether an agent is woken by it.
    pub wakes: Wakes,
}

/// Whether an agent is woken by the chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakes {
    /// Somebody asks for [`Chat::next_wake`].
    Adaptive,
    /// Nobody: what nobody waits for is only kept.
    Nobody,
}

/// Why the chat's own agent is woken (CH-9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The message that wakes it.
    pub message: u64,
    /// Who woke it.
    pub by: WokenBy,
}

/// Who wakes the chat's own agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WokenBy {
    /// The person, with words that nobody waited for.
    User,
    /// Another agent.
    Signal,
}

/// Who waits for the person (CH-4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatState {
    /// What the person's next words answer.
    pub pending_input: Option<PendingInput>,
    /// Questions after that one.
    pub waiting: usize,
}

struct Inner {
    clock: Arc<dyn Clock>,
    boot: String,
    wakes: Wakes,
    state: Mutex<State>,
    /// The newest id; closed when the chat ends.
    head: watch::Sender<Head>,
    /// Rung when somebody is to be woken.
    bell: Notify,
    /// Rung when an answer is kept, or is not after all.
    answered: Notify,
    /// Whether what an earlier run has asked is not asked again yet.
    is_early: watch::Sender<bool>,
    tasks: TaskTracker,
}

/// While it lives, the person's words wait for what an earlier run has asked.
pub(crate) struct Early(Chat);

impl Drop for Early {
    fn drop(&mut self) {
        self.0.0.is_early.send_replace(false);
    }
}

/// What readers wait for.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub(crate) id: u64,
    pub(crate) is_closed: bool,
}

struct State {
    log: Log,
    questions: Questions,
    wakes: VecDeque<Wake>,
    /// Whether who was woken so far takes no more.
    is_resting: bool,
}

/// What became of the person's words.
enum PostOutcome {
    /// They are in the chat.
    Posted(u64),
    /// They are to answer the question of a call.
    Answers(u64, AskingCall),
}

impl Chat {
    /// An empty chat.
    pub fn new(parts: ChatParts) -> Self {
        let state = State {
            log: Log::new(parts.bounds),
            questions: Questions::default(),
            wakes: VecDeque::new(),
            is_resting: false,
        };
        let head = Head {
            id: 0,
            is_closed: false,
        };
        Self(Arc::new(Inner {
            clock: parts.clock,
            boot: parts.boot,
            wakes: parts.wakes,
            state: Mutex::new(state),
            head: watch::Sender::new(head),
            bell: Notify::new(),
            answered: Notify::new(),
            is_early: watch::Sender::new(false),
            tasks: TaskTracker::new(),
        }))
    }

    /// The name of this run of the chat (CH-5).
    pub fn boot(&self) -> &str {
        &self.0.boot
    }

    /// Posts an agent's message and returns its number, whether it is read or not (CH-3).
    ///
    /// # Errors
    /// [`Code::BlankContent`], [`Code::BodyTooLarge`] above [`MAX_TEXT_BYTES`], and
    /// [`Code::InvalidParams`] for a name or a `meta` that no agent may have; nothing is said then.
    pub fn post_agent(&self, author: &str, text: &str, meta: ChatMeta) -> Result<u64, Error> {
        let said = self.by_agent(author, text, meta)?;
        Ok(self.append(said))
    }

    /// The same for a turn: after the person's answer, if one of the turn's questions is being
    /// answered; and only once, however often the call runs.
    ///
    /// # Errors
    /// As [`Chat::post_agent`].
    pub async fn post_for(
        &self,
        turn: &TurnId,
        key: Option<CallId>,
        (author, text, meta): (&str, &str, ChatMeta),
    ) -> Result<u64, Error> {
        let said = Draft {
            key,
            ..self.by_agent(author, text, meta)?
        };
        self.not_answering(turn).await;
        Ok(self.append(said))
    }

    /// Says something as an agent and wakes the chat's own one (CH-9), unless it is that one itself.
    ///
    /// # Errors
    /// As [`Chat::post_agent`].
    pub fn signal(&self, author: &str, text: &str) -> Result<u64, Error> {
        let id = self.post_agent(author, text, ChatMeta::default())?;
        self.wake(author, id);
        Ok(id)
    }

    /// Wakes the chat's own agent for what another one has said.
    pub(crate) fn wake(&self, author: &str, message: u64) {
        if author != ADAPTIVE_AGENT {
            let by = WokenBy::Signal;
            self.push_wake(&mut self.lock(), Wake { message, by });
        }
    }

    /// A note of the chat itself. A blank one is not taken.
    pub fn note(&self, text: &str, meta: ChatMeta) {
        if is_blank(text) {
            return;
        }
        self.append(noted(text.trim().to_owned(), meta));
    }

    /// Posts the person's message: the answer to the oldest question; otherwise a message for
    /// waiting agents; otherwise one that wakes the chat's own agent. Only the person's routes call
    /// this; no agent may reach it (CH-12). An answer to a session's question is kept there before
    /// this returns.
    ///
    /// # Errors
    /// [`Code::BlankContent`]; [`Code::BodyTooLarge`] above [`MAX_TEXT_BYTES`]; [`Code::Unavailable`] when
    /// the server stops and nobody would hear it; what keeps a session from taking the answer, and then
    /// the question still waits. Nothing is said then.
    pub async fn post_user(&self, text: &str) -> Result<u64, Error> {
        let voice = Voice {
            name: Sender::Embedder.name().to_owned(),
            approves: true,
        };
        self.post_user_as(text, &voice, None).await
    }

    /// The same for a person who is known by name, and who may not be allowed to decide about calls:
    /// their words then pass over the questions that ask for a decision. With `reply_to` they answer
    /// this question and no other.
    ///
    /// # Errors
    /// As [`Chat::post_user`]; [`Code::UnknownCall`] when the question `reply_to` does not wait for the
    /// person's words, or no more.
    pub async fn post_user_as(
        &self,
        text: &str,
        voice: &Voice,
        reply_to: Option<u64>,
    ) -> Result<u64, Error> {
        let text = checked(text)?;
        let mut early = self.0.is_early.subscribe();
        // The sender lives as long as `self`.
        let _over = early.wait_for(|is_early| !is_early).await.is_ok();
        let mut voice = voice.clone();
        loop {
            let (question, call) = match self.hear(&text, &voice, reply_to)? {
                PostOutcome::Posted(id) => return Ok(id),
                PostOutcome::Answers(question, call) => (question, call),
            };
            // A task of its own: who hangs up halfway leaves no answer that is kept and not shown.
            let answer = self
                .clone()
                .answer(question, call, text.clone(), voice.name.clone());
            let answered = self.0.tasks.spawn(answer).await;
            // Where somebody else was faster, it is heard by whoever waits now.
            if let Some(id) = answered.unwrap_or_else(|_| Err(stopping()))? {
                return Ok(id);
            }
            // Words about one question decide about no other call.
            voice.approves = false;
        }
    }

    /// Lets the person's words wait until this is dropped: they may answer what is asked by then.
    pub(crate) fn early(&self) -> Early {
        self.0.is_early.send_replace(true);
        Early(self.clone())
    }

    fn hear(&self, text: &str, voice: &Voice, reply_to: Option<u64>) -> Result<PostOutcome, Error> {
        let mut state = self.lock();
        if self.0.head.borrow().is_closed {
            return Err(stopping());
        }
        while let Some(taken) = state.questions.take(voice.approves, reply_to) {
            let (question, waiter) = match taken {
                AnsweredQuestion::Call(question, call) => {
                    return Ok(PostOutcome::Answers(question, call));
                }
                AnsweredQuestion::Waiter(question, waiter) => (question, waiter),
            };
            // Seen by nobody before the message is: that needs the same lock.
            if waiter.send(text.to_owned()).is_ok() {
                let id = self.put(&mut state, by_user(text.to_owned(), Some(question)));
                return Ok(PostOutcome::Posted(id));
            }
            // Who asked is just going away, and has not said so yet.
            self.put(&mut state, withdrawn(question));
        }
        if let Some(question) = reply_to {
            let why = locale::global_chat::waits_no_more(question);
            return Err(Error::new(Code::UnknownCall, why));
        }
        let is_heard = state.questions.tell_listener(text);
        if !is_heard && state.is_resting {
            return Err(stopping());
        }
        let message = self.put(&mut state, by_user(text.to_owned(), None));
        if !is_heard {
            let by = WokenBy::User;
            self.push_wake(&mut state, Wake { message, by });
        }
        Ok(PostOutcome::Posted(message))
    }

    /// Keeps an answer, then shows it; none when the question was answered by somebody else.
    async fn answer(
        self,
        question: u64,
        call: AskingCall,
        text: String,
        by: String,
    ) -> Result<Option<u64>, Error> {
        failpoint!("chat.answer.before");
        planted!("chat-answer-lost", {
            let mut state = self.lock();
            state.questions.remove(question);
            return Ok(Some(self.put(&mut state, by_user(text, Some(question)))));
        });
        let settled = call.settle(text.clone(), &by).await;
        failpoint!("chat.answer.settled");
        let shown = {
            let mut state = self.lock();
            match settled {
                Ok(true) => {
                    state.questions.remove(question);
                    Ok(Some(self.put(&mut state, by_user(text, Some(question)))))
                }
                Ok(false) => {
                    self.retract(&mut state, question);
                    Ok(None)
                }
                Err(error) => {
                    if state.questions.put_back(question) {
                        self.retract(&mut state, question);
                    }
                    Err(error)
                }
            }
        };
        self.0.answered.notify_waiters();
        failpoint!("chat.answer.after");
        shown
    }

    /// An agent asks the person; its answer comes to [`Chat::wait_user`] (CH-4).
    ///
    /// # Errors
    /// As [`Chat::post_agent`]; [`Code::Busy`] when too many questions wait.
    pub fn ask_user(&self, author: &str, question: &str) -> Result<u64, Error> {
        let said = self.by_agent(author, question, ChatMeta::default())?;
        let mut state = self.lock();
        state.questions.check_waiters()?;
        let id = self.put(&mut state, said);
        state.questions.ask(id, author.to_owned());
        Ok(id)
    }

    /// Waits for the answer to the author's oldest question, or, without one, for the next message
    /// that answers no question (CH-13). Returns at once if the answer is already there. Dropping
    /// the future withdraws the wait.
    ///
    /// # Errors
    /// [`Code::Unavailable`] when the chat ends or the question is withdrawn meanwhile; [`Code::Busy`]
    /// when too many listen.
    pub async fn wait_user(&self, author: &str) -> Result<String, Error> {
        let (waits, answer) = {
            let mut state = self.lock();
            if self.0.head.borrow().is_closed {
                return Err(stopping());
            }
            if let Some(unfetched) = state.questions.fetch(author) {
                (Waits::Asked(unfetched.question), unfetched.answer)
            } else {
                let (number, heard) = state.questions.listen()?;
                (Waits::Listens(number), heard)
            }
        };
        let _leaves = Leaves { chat: self, waits };
        answer.await.map_err(|_| {
            let why = locale::global_chat::withdrawn();
            Error::new(Code::Unavailable, why)
        })
    }

    /// Asks no longer; the next question is the one to be answered. That of a turn stays: it is as open
    /// as its call.
    pub fn withdraw(&self, question: u64) {
        let mut state = self.lock();
        if !state.questions.is_of_call(question) {
            self.retract(&mut state, question);
        }
    }

    /// A call asks the person.
    ///
    /// # Errors
    /// As [`Chat::ask_user`].
    pub(crate) async fn ask_for(
        &self,
        author: &str,
        question: &str,
        call: AskingCall,
    ) -> Result<(), Error> {
        let said = self.by_agent(author, question, ChatMeta::default())?;
        self.not_answering(&call.turn).await;
        failpoint!("chat.ask.before");
        planted!("question-asked-twice", {
            self.append(self.by_agent(author, question, ChatMeta::default())?);
        });
        {
            let mut state = self.lock();
            state.questions.check_room()?;
            let id = self.put(&mut state, said);
            state.questions.ask_for(id, author.to_owned(), call);
        }
        failpoint!("chat.ask.after");
        Ok(())
    }

    /// A call asks no longer.
    pub(crate) fn withdraw_call(&self, call: &CallId) {
        let mut state = self.lock();
        if let Some(question) = state.questions.gone(call) {
            self.retract(&mut state, question);
        }
    }

    /// Who waits for the person.
    pub fn state(&self) -> ChatState {
        let state = self.lock();
        ChatState {
            pending_input: state.questions.pending(),
            waiting: state.questions.len().saturating_sub(1),
        }
    }

    /// The messages after an id, oldest first: at most `limit`.
    pub fn read(&self, after: u64, limit: usize) -> Page {
        self.lock().log.read(after, limit, usize::MAX)
    }

    /// The same, up to a size.
    pub(crate) fn read_some(&self, after: u64, limit: usize, max_bytes: usize) -> Page {
        self.lock().log.read(after, limit, max_bytes)
    }

    /// One message, while it is there.
    pub(crate) fn message(&self, id: u64) -> Option<Arc<ChatMessage>> {
        let mut page = self.read(id.checked_sub(1)?, 1);
        page.messages.pop().filter(|message| message.id == id)
    }

    /// The newest messages, oldest first.
    pub fn last(&self, count: usize) -> Page {
        let state = self.lock();
        let after = state.log.head().saturating_sub(count as u64);
        let page = state.log.read(after, count, usize::MAX);
        Page {
            is_truncated: false,
            ..page
        }
    }

    /// Reads the messages after an id, as they come.
    pub fn follow(&self, after: u64) -> Reader {
        Reader::new(self.clone(), self.0.head.subscribe(), after)
    }

    /// The next reason to wake the chat's own agent, waited for; for one caller. Safe to drop halfway.
    pub async fn next_wake(&self) -> Wake {
        loop {
            if let Some(wake) = self.lock().wakes.pop_front() {
                return wake;
            }
            self.0.bell.notified().await;
        }
    }

    /// From here on words that would wake the chat's own agent are refused: it takes no more, and who
    /// said them shall not wait for an answer. Questions can be answered still.
    pub(crate) fn rest(&self) {
        self.lock().is_resting = true;
    }

    /// Closes the chat: readers see its end, waiting agents return, and no message is accepted.
    pub fn close(&self) {
        self.0.head.send_modify(|head| head.is_closed = true);
        self.lock().questions.clear();
        self.0.tasks.close();
    }

    fn by_agent(&self, author: &str, text: &str, meta: ChatMeta) -> Result<Draft, Error> {
        check_author(author)?;
        let text = checked(text)?;
        check_meta(&meta, self.lock().log.head())?;
        Ok(Draft {
            role: ChatRole::Agent,
            author: author.to_owned(),
            text,
            meta,
            key: None,
        })
    }

    fn append(&self, said: Draft) -> u64 {
        self.put(&mut self.lock(), said)
    }

    /// Shown under the lock, so that readers hear of ids in their order.
    fn put(&self, state: &mut State, said: Draft) -> u64 {
        let id = state.log.append(said, self.0.clock.now());
        self.0.head.send_modify(|head| head.id = head.id.max(id));
        id
    }

    fn retract(&self, state: &mut State, question: u64) {
        if state.questions.remove(question) {
            self.put(state, withdrawn(question));
        }
    }

    fn push_wake(&self, state: &mut State, wake: Wake) {
        if self.0.wakes == Wakes::Nobody {
            return;
        }
        // Agents may signal faster than one of them answers: the newest stands for those before it,
        // which are seen as what was said before.
        if wake.by == WokenBy::Signal
            && let Some(last) = state.wakes.back_mut()
            && last.by == WokenBy::Signal
        {
            last.message = last.message.max(wake.message);
            return;
        }
        if state.wakes.len() >= MAX_WAKES {
            state.wakes.pop_front();
        }
        state.wakes.push_back(wake);
        self.0.bell.notify_one();
    }

    /// Waits until no answer to a question of this turn is being kept.
    async fn not_answering(&self, turn: &TurnId) {
        loop {
            let rung = self.0.answered.notified();
            tokio::pin!(rung);
            rung.as_mut().enable();
            if !self.lock().questions.is_answering(turn) {
                return;
            }
            rung.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let state = &self.0.state;
        state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What somebody waits for.
enum Waits {
    Asked(u64),
    Listens(u64),
}

/// Takes back what is waited for by who goes away. What has its answer is not there any more.
struct Leaves<'a> {
    chat: &'a Chat,
    waits: Waits,
}

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        match self.waits {
            Waits::Asked(question) => self.chat.withdraw(question),
            Waits::Listens(number) => self.chat.lock().questions.leave(number),
        }
    }
}

/// The text as it is kept.
fn checked(text: &str) -> Result<String, Error> {
    if is_blank(text) {
        return Err(Error::new(Code::BlankContent, locale::global_chat::blank()));
    }
    let text = text.trim();
    if text.len() > MAX_TEXT_BYTES {
        let why = locale::global_chat::too_long(text.len(), MAX_TEXT_BYTES);
        return Err(Error::new(Code::BodyTooLarge, why));
    }
    Ok(redact::own().redact(text).into_owned())
}

fn stopping() -> Error {
    Error::new(Code::Unavailable, locale::server::stopping())
}
