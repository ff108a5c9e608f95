//! Sessions in memory: of the same engine, and of one owner, who has the only way to them.

use std::sync::Arc;

use samovar_core::command::{Change, Opening, Post, Text};
use samovar_core::redact;
use samovar_core::{
    Accepted, Action, Answer, ApprovalId, CallId, Code, Delivery, Error, Outcome, Seq, SessionId,
    TurnId,
};
use tokio::sync::{mpsc, oneshot};

use super::approvals::{Expiry, asked_for, make_rule};
use super::{Engine, MAX_LETTERS, Mail, begun, by_embedder, deliver, stopping};
use crate::log::{Follower, Log};
use crate::open_calls::{Awaited, CallWatch};
use crate::parts::Parts;
use crate::runner::{not_asked, not_open};
use crate::session::{Conversation, Letter, Mailbox};
use crate::settings::Settings;
use crate::toolbox::Toolbox;

/// How a session in memory begins.
pub struct Beginning {
    /// The name that leads to the provider of its model.
    pub model: String,
    /// All the tools that its turns have.
    pub toolbox: Arc<Toolbox>,
    /// How its turns run. What concerns stores is ignored.
    pub settings: Settings,
    /// What was said before.
    pub conversation: Conversation,
}

/// A session that memory alone has. It writes nothing but the tokens that it uses, is in no list, and
/// ends when its owner drops this, or with the engine.
pub struct MemorySession {
    parts: Arc<Parts>,
    id: SessionId,
    mail: Mail,
    log: Log,
}

impl Engine {
    /// Begins a session in memory.
    ///
    /// # Errors
    /// [`Code::Unavailable`] while the server stops, [`Code::Busy`] when its memory is used up.
    pub fn begin_in_memory(&self, beginning: Beginning) -> Result<MemorySession, Error> {
        let parts = Arc::new(self.parts.in_memory(beginning.toolbox, beginning.settings));
        let id = SessionId::fresh(parts.ids.as_ref());
        let open = Action::Open(Opening::default());
        parts.check(&by_embedder(&id, open))?;
        let (mut mailbox, log) = Mailbox::in_memory(
            parts.clone(),
            id.clone(),
            beginning.model,
            beginning.conversation,
        );
        let (mail, mut letters) = mpsc::channel(MAX_LETTERS);
        let running = async move { mailbox.run(&mut letters).await };
        self.bus.tasks.spawn(running);
        let expiry = Expiry::of_mail(&parts, &mail);
        self.bus.tasks.spawn(expiry.run());
        Ok(MemorySession {
            parts,
            id,
            mail,
            log,
        })
    }
}

impl MemorySession {
    /// Posts text. Returns the turn that answers it, and the position after which that turn can be
    /// followed.
    ///
    /// # Errors
    /// The refusal, with its code; the text may be blank or too long.
    pub async fn post(&self, text: String, delivery: Delivery) -> Result<(TurnId, Seq), Error> {
        let post = Post::new(Text::new(text)?, delivery);
        begun(self.act(Action::Post(post)).await?)
    }

    /// Changes its model, from the next turn on.
    ///
    /// # Errors
    /// The refusal, with its code.
    pub async fn set_model(&self, model: String) -> Result<(), Error> {
        let change = Change {
            model: Some(model),
            ..Change::default()
        };
        self.act(Action::Change(change)).await.map(drop)
    }

    /// Closes a call that waits to be settled from outside.
    ///
    /// # Errors
    /// [`Code::UnknownCall`] when it does not wait, or no more.
    pub async fn settle(&self, call: CallId, outcome: Outcome) -> Result<(), Error> {
        let gone = not_open(&call);
        match self.act(Action::Settle { call, outcome }).await {
            Err(error) if error.code == Code::UnknownSession => Err(gone),
            settled => settled.map(drop),
        }
    }

    /// Takes a person's decision about a call, as [`Engine::decide`] does.
    ///
    /// # Errors
    /// [`Code::UnknownApproval`] when no call waits for it, or no more; what saving a rule said.
    pub async fn decide(&self, approval: ApprovalId, answer: Answer) -> Result<(), Error> {
        let awaited = Awaited::Decision(approval.clone());
        let mut open = self.parts.open_calls.list().into_iter();
        let open = open.find(|open| open.is(&awaited));
        let asked = open.and_then(|open| open.asked);
        let asked = asked.ok_or_else(|| not_asked(&approval))?;
        let wanted = asked_for(asked.grant.clone(), &answer)?;
        let gone = not_asked(&approval);
        let decided = self.act(Action::Decide { approval, answer }).await;
        match decided {
            Ok(_) => make_rule(&self.parts, wanted).await.map(drop),
            Err(error) if error.code == Code::UnknownSession => Err(gone),
            Err(error) => Err(error),
        }
    }

    /// Reads its events after a position, as they come. What it has read, and no open turn needs,
    /// leaves memory: a second reader may lose its place.
    pub fn follow(&self, after: Seq) -> Follower {
        self.log.follow(after).until(self.parts.stop.clone())
    }

    /// Watches its calls that wait to be settled from outside.
    pub fn watch_calls(&self) -> CallWatch {
        CallWatch::new(self.parts.open_calls.clone(), self.parts.stop.clone())
    }

    async fn act(&self, mut action: Action) -> Result<Accepted, Error> {
        redact::own().redact_action(&mut action);
        let _here = self.parts.running.enter();
        let command = by_embedder(&self.id, action);
        self.parts.check(&command)?;
        let (reply, accepted) = oneshot::channel();
        let letter = Letter::Command(Box::new(command), reply);
        deliver(&self.mail, &self.id, letter)?;
        accepted.await.map_err(|_| stopping())?
    }
}
