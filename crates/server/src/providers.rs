//! The table of providers and their settings, for code that reads the configuration.

pub use samovar_providers::{
    Access, Alternative, Choice, DemoUse, Idle, IdleKey, LocalModel, Price, ProbeOutcome,
    ProbeReport, Probing, ProviderConfig, ProviderSpec, Proxy, ProxyConfig, ProxySetting, Reason,
    Registry, Row, SPECS, Secret, ServerProbe, Timeouts, UNBUILT, Unbuilt, Way, price_key,
};

/// The providers that a configuration sets up, with `demo` among them.
pub fn registry(config: ProviderConfig) -> Registry {
    Registry::new(config, std::sync::Arc::new(samovar_demo::Demo::new()))
}
