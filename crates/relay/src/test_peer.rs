//! The other end of a connection, for the tests of both ends of the bridge.

use std::sync::Arc;

use samovar_core::Future;
use samovar_core::relay::{Envelope, MessageKind, Payload};
use samovar_doubles::World;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::link::{Connector, Disconnect, Link};

/// The names of the tools and the text of the last message, for each time that a model was asked.
pub(crate) fn asked(world: &World) -> Vec<(Vec<String>, String)> {
    let prompts = world.model.prompts().into_iter();
    let asked = prompts.map(|prompt| {
        let tools = prompt.tools.iter().map(|tool| tool.name.clone()).collect();
        (tools, prompt.messages.last().unwrap().text())
    });
    asked.collect()
}

/// The other end of a connection: the relay and its host, as a test plays them.
pub(crate) struct TestPeer {
    pub(crate) heard: mpsc::Receiver<Envelope>,
    pub(crate) tell: mpsc::Sender<Arc<Envelope>>,
}

pub(crate) struct NearLink {
    tell: mpsc::Sender<Envelope>,
    heard: mpsc::Receiver<Arc<Envelope>>,
}

impl Link for NearLink {
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
            let near: Box<dyn Link> = Box::new(NearLink { tell, heard });
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
