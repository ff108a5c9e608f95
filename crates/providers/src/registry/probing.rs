//! When the servers of this machine are asked for their models, and which of them.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{Registry, is_loopback};
use crate::endpoint::{Clients, Endpoint};
use crate::probe::{ProbeReport, ProbeTarget, probe};
use crate::specs::{ProviderSpec, SPECS};

/// How long what was found counts.
const FOUND_COUNTS: Duration = Duration::from_mins(1);

/// How long it counts that nothing was found: a server may have been started since.
const NOTHING_COUNTS: Duration = Duration::from_secs(10);

/// The last report of this machine's servers.
pub(super) struct LastProbe {
    clients: Arc<Clients>,
    last: Mutex<Option<(Instant, Arc<ProbeReport>)>>,
    /// The same report, readable while a probe runs.
    known: RwLock<Option<Arc<ProbeReport>>>,
}

impl LastProbe {
    pub(super) fn none(clients: Arc<Clients>) -> Self {
        Self {
            clients,
            last: Mutex::new(None),
            known: RwLock::default(),
        }
    }
}

impl Registry {
    /// Asks this machine's servers for their models. A result is reused for a minute, an empty one for
    /// ten seconds. Takes at most [`Timeouts::probe`](crate::Timeouts::probe), also for callers that
    /// join a running probe.
    pub async fn probe(&self) -> Arc<ProbeReport> {
        // Held while they are asked, so that everybody who wants to know waits for one probe.
        let mut last = self.last_probe.last.lock().await;
        if let Some((at, probed)) = &*last
            && at.elapsed() < counts(probed)
        {
            return Arc::clone(probed);
        }
        let probed = probe(self.places(), self.config.timeouts.probe).await;
        let probed = Arc::new(probed);
        *last = Some((Instant::now(), Arc::clone(&probed)));
        let known = self.last_probe.known.write();
        *known.unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&probed));
        probed
    }

    /// The last report; empty before the first probe.
    pub(super) fn last_probed(&self) -> Arc<ProbeReport> {
        self.known().unwrap_or_default()
    }

    /// Whether this machine's servers were asked at least once, or never are.
    pub(super) fn has_probed(&self) -> bool {
        self.config.probing == crate::Probing::Off || self.known().is_some()
    }

    fn known(&self) -> Option<Arc<ProbeReport>> {
        let known = self.last_probe.known.read();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whom to ask: those whose base URL was set by hand, if any, and nobody else then; else the
    /// local rows.
    fn places(&self) -> Vec<ProbeTarget> {
        if self.config.probing == crate::Probing::Off {
            return Vec::new();
        }
        let by_hand = self.set_by_hand();
        let local = || SPECS.iter().filter(|spec| self.config.probing.asks(spec));
        let specs = match by_hand.as_slice() {
            [] => local().collect(),
            [..] => by_hand,
        };
        let asked = specs.into_iter().filter(|spec| self.is_asked(spec));
        asked.map(|spec| self.place(spec)).collect()
    }

    /// A service elsewhere is not asked, even if its address was set by hand: its list is long, and
    /// nobody said that all of it may be used.
    pub(super) fn is_asked(&self, spec: &ProviderSpec) -> bool {
        spec.is_local || self.base(spec).is_ok_and(|url| is_loopback(&url))
    }

    fn place(&self, spec: &'static ProviderSpec) -> ProbeTarget {
        let endpoint = self.base(spec).and_then(|base| {
            let clients = Arc::clone(&self.last_probe.clients);
            let endpoint = Endpoint::new(spec, base, self.config.timeouts, clients);
            match self.config.keys.get(spec.name) {
                // At a usual address anybody may listen; a key goes where its owner says.
                Some(key) if self.is_by_hand(spec) => endpoint.with_key(key),
                Some(_) | None => Ok(endpoint),
            }
        });
        ProbeTarget {
            spec,
            endpoint: endpoint.map_err(|error| error.message.into_owned()),
        }
    }
}

fn counts(probed: &ProbeReport) -> Duration {
    match probed.chosen() {
        Some(_) => FOUND_COUNTS,
        None => NOTHING_COUNTS,
    }
}
