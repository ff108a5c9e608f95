//! The host's tools as the agent has them: each call goes to the room.

use std::sync::Arc;

use samovar_core::{
    CallContext, CallFacts, CallId, Future, Outcome, OutsideText, Status, ToolCall, ToolReply,
    ToolSpec, Toolset,
};
use samovar_engine::Toolbox;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::schema;

/// A call that is to be made in the room.
pub(super) struct Ask {
    pub(super) call: CallId,
    pub(super) tool: String,
    pub(super) params: Value,
    pub(super) outcome: oneshot::Sender<Outcome>,
}

/// The tools of a host at one moment.
struct HostTools {
    specs: Vec<Arc<ToolSpec>>,
    asks: mpsc::Sender<Ask>,
}

impl Toolset for HostTools {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        self.specs.clone()
    }

    fn facts(&self, call: &ToolCall) -> Option<CallFacts> {
        let mut specs = self.specs.iter();
        // What a host shows comes from outside; what is sent to it goes back to where that came from.
        Some(CallFacts {
            asks: specs.find(|spec| spec.name == call.name)?.asks,
            grants: Some(Vec::new()),
            outside: Some(OutsideText::Plain),
            ..CallFacts::default()
        })
    }

    fn call(&self, call: ToolCall, _context: CallContext) -> Future<'static, ToolReply> {
        let asks = self.asks.clone();
        Box::pin(async move {
            let (outcome, answer) = oneshot::channel();
            let ask = Ask {
                call: call.id,
                tool: call.name,
                params: call.args,
                outcome,
            };
            if asks.send(ask).await.is_err() {
                return ToolReply::Closed(Outcome::failed("the agent has left the room"));
            }
            let left = "outcome unknown: the agent has left the room";
            let left = |_| Outcome::new(Status::Unknown, left);
            ToolReply::Closed(answer.await.unwrap_or_else(left))
        })
    }
}

/// The toolbox of the agent, which holds what the host has now.
pub(super) struct Tools {
    pub(super) toolbox: Arc<Toolbox>,
    asks: mpsc::Sender<Ask>,
    /// What the host said last.
    said: Value,
}

impl Tools {
    pub(super) fn new(asks: mpsc::Sender<Ask>) -> Self {
        Self {
            toolbox: Arc::default(),
            asks,
            said: Value::Null,
        }
    }

    /// The host says which tools it has now: they are in the place of the old ones before a model is
    /// asked again.
    pub(super) fn refresh(&mut self, tool_schema: Option<&Value>, room: &str) {
        let tool_schema = tool_schema.unwrap_or(&Value::Null);
        if *tool_schema == self.said {
            return;
        }
        self.said = tool_schema.clone();
        let (specs, left_out) = schema::read(tool_schema);
        for why in left_out {
            tracing::warn!(room, why, "a tool of the host is left out");
        }
        let asks = self.asks.clone();
        let tools: Arc<dyn Toolset> = Arc::new(HostTools { specs, asks });
        for error in self.toolbox.exchange(&tools) {
            tracing::warn!(room, %error, "a tool of the host is left out");
        }
    }
}
