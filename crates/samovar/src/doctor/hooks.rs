//! The tools of the configuration: whether their addresses may be asked.

use samovar_locale::doctor as text;
use samovar_server::egress::Client;

use super::Finding;
use crate::config::Setup;
use crate::exit::Exit;

/// A finding for each tool; nothing is sent anywhere.
pub(super) async fn examine(found: &Setup) -> Vec<Finding> {
    let client = Client::new(found.config.egress.clone());
    let mut findings = Vec::new();
    for tool in &found.config.tools {
        let reason = text::tool_why();
        findings.push(match tool.refusal(&client).await {
            None => Finding::good("tool", text::tool_usable(&tool.name), reason),
            Some(why) => {
                let fact = text::tool_refused(&tool.name, why);
                Finding::bad("tool", Exit::Configuration, fact, reason)
                    .with_command("samovar config explain egress.allow")
            }
        });
    }
    findings
}
