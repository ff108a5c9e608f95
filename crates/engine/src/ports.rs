//! What an engine is given.

use std::sync::Arc;

use samovar_core::audit::Audit;
use samovar_core::{Agents, Blobs, Clock, Damages, History, Ids, Journal, Models};

use crate::toolbox::Toolbox;

/// What the engine works with: implementations of its ports.
pub struct Ports {
    /// The hot store.
    pub journal: Arc<dyn Journal>,
    /// The cold store.
    pub history: Arc<dyn History>,
    /// The bytes that messages name by their hash.
    pub blobs: Arc<dyn Blobs>,
    /// The models.
    pub models: Arc<dyn Models>,
    /// The tools.
    pub toolbox: Arc<Toolbox>,
    /// The definitions of agents.
    pub agents: Arc<dyn Agents>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn Ids>,
    /// Receives reports of damage.
    pub damages: Arc<dyn Damages>,
    /// Receives the decisions about calls.
    pub audit: Arc<dyn Audit>,
}
