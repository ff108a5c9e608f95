//! The tools of the configuration: where they ask, and whether their addresses may be asked.

use samovar_locale::doctor as text;
use samovar_server::Home;
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

/// The tools whose answers count as the owner's own text, if there are any.
pub(super) fn closed(found: &Setup) -> Option<Finding> {
    let names = Home::closed_tools(&found.config);
    let fact = || text::tool_closed(names.join(", "));
    (!names.is_empty()).then(|| Finding::good("tool", fact(), text::tool_closed_why()))
}

/// Where `web_search` asks.
pub(super) fn search(found: &Setup) -> Finding {
    let reason = text::search_why();
    let Some(search) = &found.config.search else {
        return Finding::absent("search", text::search_none().to_owned(), reason);
    };
    let service = search.service.name();
    if search.lacks_key() {
        let fact = text::search_keyless(service);
        return Finding::bad("search", Exit::Configuration, fact, reason)
            .with_command("samovar config explain tools.web.search_api_key");
    }
    Finding::good("search", text::search_of(service), reason)
}
