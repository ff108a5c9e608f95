//! A world and the other end of a connection, for the tests of both ends of the bridge.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use samovar_core::provider::{Answer, ModelKind};
use samovar_core::relay::{Envelope, MessageKind, Payload};
use samovar_core::{
    Clock, Error, Future, Ids, Millis, Model, Models, Prompt, Provider, ProviderEvent, Usage,
};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::link::{Connector, Disconnect, Link};

/// A clock that ticks when it is read, ids that count, and a model with prepared answers that
/// remembers what it was asked.
#[derive(Clone, Default)]
pub(crate) struct World {
    pub(crate) ticks: Arc<AtomicU64>,
    pub(crate) answers: Arc<Mutex<VecDeque<Vec<ProviderEvent>>>>,
    pub(crate) prompts: Arc<Mutex<Vec<Prompt>>>,
}

impl World {
    pub(crate) fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    /// The names of the tools and the text of the last message, for each time that it was asked.
    pub(crate) fn asked(&self) -> Vec<(Vec<String>, String)> {
        let prompts = self.prompts.lock().unwrap();
        let asked = prompts.iter().map(|prompt| {
            let tools = prompt.tools.iter().map(|tool| tool.name.clone()).collect();
            (tools, prompt.messages.last().unwrap().text())
        });
        asked.collect()
    }
}

impl Clock for World {
    fn now(&self) -> Millis {
        Millis(4_000_000_000_000 + i64::try_from(self.tick()).unwrap())
    }
}

impl Ids for World {
    fn uuid(&self) -> String {
        format!("id-{}", self.tick())
    }
}

impl Models for World {
    fn resolve(&self, name: &str) -> Result<Model, Error> {
        Ok(Model {
            name: name.to_owned(),
            endpoint_name: name.to_owned(),
            kind: ModelKind::Local,
            provider: Arc::new(self.clone()),
        })
    }

    fn claim(&self, _name: &str) -> Result<(), Error> {
        Ok(())
    }

    fn default_name(&self) -> Future<'_, Result<String, Error>> {
        Box::pin(std::future::ready(Ok("prepared".to_owned())))
    }
}

impl Provider for World {
    fn stream(&self, prompt: Prompt) -> Answer {
        self.prompts.lock().unwrap().push(prompt);
        let answer = self.answers.lock().unwrap().pop_front().unwrap();
        Box::pin(futures_util::stream::iter([answer]))
    }
}

pub(crate) fn whole(reason: &str) -> ProviderEvent {
    ProviderEvent::MessageComplete {
        finish_reason: reason.to_owned(),
        usage: Usage::default(),
    }
}

pub(crate) fn says(text: &str) -> Vec<ProviderEvent> {
    vec![ProviderEvent::TextDelta(text.to_owned()), whole("stop")]
}

pub(crate) fn calls(text: &str, name: &str, args: Value) -> Vec<ProviderEvent> {
    let (id, name) = ("1".to_owned(), name.to_owned());
    let mut answer = vec![ProviderEvent::TextDelta(text.to_owned())];
    answer.retain(|_| !text.is_empty());
    answer.push(ProviderEvent::ToolCallStart {
        id: id.clone(),
        name: name.clone(),
    });
    answer.push(ProviderEvent::ToolCallEnd {
        id,
        name,
        args,
        provider_state: None,
    });
    answer.push(whole("tool_calls"));
    answer
}

/// The other end of a connection: the relay and its host, as a test plays them.
pub(crate) struct TestPeer {
    pub(crate) heard: mpsc::Receiver<Envelope>,
    pub(crate) tell: mpsc::Sender<Arc<Envelope>>,
}

pub(crate) struct Near {
    tell: mpsc::Sender<Envelope>,
    heard: mpsc::Receiver<Arc<Envelope>>,
}

impl Link for Near {
    fn say(&mut self, envelope: Envelope) -> Future<'_, Result<(), Disconnect>> {
        Box::pin(async {
            let said = self.tell.send(envelope).await;
            said.map_err(|_| cut())
        })
    }

    fn next(&mut self) -> Future<'_, Result<Arc<Envelope>, Disconnect>> {
        Box::pin(async { self.heard.recv().await.ok_or_else(cut) })
    }
}

pub(crate) fn cut() -> Disconnect {
    Disconnect::Broken("cut".to_owned())
}

pub(crate) struct Path(pub(crate) mpsc::Sender<TestPeer>);

impl Connector for Path {
    fn open(&self) -> Future<'static, Result<Box<dyn Link>, String>> {
        let made = self.0.clone();
        Box::pin(async move {
            let ((tell, far_heard), (far_tell, heard)) = (mpsc::channel(64), mpsc::channel(64));
            let far = TestPeer {
                heard: far_heard,
                tell: far_tell,
            };
            made.send(far).await.map_err(|_| "shut".to_owned())?;
            let near: Box<dyn Link> = Box::new(Near { tell, heard });
            Ok(near)
        })
    }
}

impl TestPeer {
    pub(crate) async fn hears(&mut self, kind: MessageKind) -> Envelope {
        let heard = self.heard.recv().await.expect("the agent is there");
        assert_eq!(heard.kind, kind, "{heard:?}");
        heard
    }

    pub(crate) async fn tells(&self, kind: MessageKind, payload: Value) {
        self.answers(kind, None, payload).await;
    }

    pub(crate) async fn answers(&self, kind: MessageKind, to: Option<&Envelope>, payload: Value) {
        let reply_to = to.map(|asked| asked.id.clone().unwrap());
        let envelope = Envelope::new(kind, object(&payload)).replying_to(reply_to);
        self.tell.send(Arc::new(envelope)).await.unwrap();
    }
}

pub(crate) fn object(value: &Value) -> Payload {
    value.as_object().unwrap().clone()
}
