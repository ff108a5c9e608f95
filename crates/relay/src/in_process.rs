//! The way into a relay of this very process.

use std::sync::Arc;

use samovar_core::Future;
use samovar_core::relay::{Envelope, RelayRole};

use crate::link::{Connector, Disconnect, Link};
use crate::member::Member;
use crate::queue::Disconnected;
use crate::relay::{Pass, Relay};

/// Connects to one room of a relay in one role, and reconnects when the connection is lost.
pub struct InProcess {
    relay: Relay,
    pass: Pass,
}

impl InProcess {
    /// The way into this room.
    pub fn new(relay: &Relay, room: &str, role: RelayRole) -> Self {
        Self {
            relay: relay.clone(),
            pass: Pass::Only {
                room: room.trim().to_owned(),
                role,
            },
        }
    }
}

impl Connector for InProcess {
    fn open(&self) -> Future<'static, Result<Box<dyn Link>, String>> {
        let (relay, pass) = (self.relay.clone(), self.pass.clone());
        Box::pin(async move {
            let member: Box<dyn Link> = Box::new(relay.enter(pass));
            Ok(member)
        })
    }
}

impl Link for Member {
    /// The relay always takes it, and says what is wrong with it as it would to anybody.
    fn say(&mut self, envelope: Envelope) -> Future<'_, Result<(), Disconnect>> {
        Box::pin(async {
            Member::say(self, envelope).await;
            Ok(())
        })
    }

    fn next(&mut self) -> Future<'_, Result<Arc<Envelope>, Disconnect>> {
        Box::pin(async {
            Member::next(self).await.map_err(|gone| match gone {
                Disconnected::Replaced => Disconnect::Replaced,
                Disconnected::Overrun => Disconnect::Broken("it took too long to read".to_owned()),
                Disconnected::Closed => Disconnect::Broken("the relay has ended".to_owned()),
            })
        })
    }
}
