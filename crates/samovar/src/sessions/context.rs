//! `samovar sessions context`: what a model was told.

use samovar_locale::context as text;
use samovar_wire::api::{ContextInfo, ContextLayer};

use crate::client::segment;
use crate::output::table;

/// The address of a session's context.
pub(crate) fn path(session: &str, turn: Option<&str>) -> String {
    let path = format!("/api/sessions/{}/context", segment(session));
    match turn {
        Some(turn) => format!("{path}?turn={}", segment(turn)),
        None => path,
    }
}

/// The sizes of all parts, then the text of each layer.
pub(crate) fn shown(context: &ContextInfo) -> String {
    let layers = context.layers.iter().map(row);
    let rows = layers.chain([
        vec![
            text::messages(context.messages.count),
            context.messages.tokens.to_string(),
            String::new(),
        ],
        row(&context.tools),
    ]);
    let texts = context.layers.iter().filter(|layer| !layer.text.is_empty());
    let texts = texts.map(|layer| format!("\n--- {}\n{}\n", layer.name, layer.text.trim()));
    let texts: String = texts.collect();
    format!(
        "{}\n{}{texts}",
        head(context),
        table(&rows.collect::<Vec<_>>())
    )
}

/// The sizes alone, a line for each part.
fn head(context: &ContextInfo) -> String {
    let share = match (context.window, context.share) {
        (Some(window), Some(share)) => text::share((share * 100.0).round(), window),
        _ => String::new(),
    };
    text::head(&context.model, context.tokens, share)
}

fn row(layer: &ContextLayer) -> Vec<String> {
    let changed = match layer.changed {
        Some(true) => text::changed(),
        Some(false) => "",
        None => text::unknown(),
    };
    vec![
        layer.name.clone(),
        layer.tokens.to_string(),
        changed.to_owned(),
    ]
}
