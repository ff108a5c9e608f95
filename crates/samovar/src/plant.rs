//! Plants the fault that `SAMOVAR_PLANT` names, so that a proof can show that it would find it. Only
//! in builds with the feature `plant`.

use samovar_core::plant::{self, FAULTS};
use samovar_engine::Ports;
use samovar_server::Config;

use crate::config;

/// Reads the variable and plants the fault.
pub(crate) fn plant() {
    let Some(name) = config::plant() else {
        return;
    };
    let is_known = FAULTS.iter().any(|fault| fault.name == name);
    if !is_known {
        tracing::error!(name, "there is no such fault to plant");
    } else if plant::plant(name).is_err() {
        tracing::error!("a fault was planted before");
    }
}

/// Has a server lay the fault over its stores, if it is one of theirs.
pub(crate) fn lay(config: &mut Config) {
    if config::plant().is_none() {
        return;
    }
    config.planted = |ports| {
        let (journal, history) = samovar_doubles::faulty(ports.journal, ports.history);
        Ports {
            journal,
            history,
            ..ports
        }
    };
}
