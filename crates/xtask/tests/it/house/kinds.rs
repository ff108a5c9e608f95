//! Every kind of event is explained to those who read the protocols.

use syn::Item;

use super::Violation;

/// Where the kinds are defined.
pub(super) const EVENTS: &str = "crates/core/src/event.rs";
/// Where they are explained.
pub(super) const PAGES: &str = "docs/protocols.md";

/// The kinds that the protocol pages do not name.
pub(super) fn unexplained(events: Option<&str>, pages: Option<&str>) -> Vec<Violation> {
    let (Some(events), Some(pages)) = (events, pages) else {
        let missing = [(EVENTS, events), (PAGES, pages)];
        let missing = missing.into_iter().filter(|(_, text)| text.is_none());
        return missing
            .map(|(path, _)| Violation::new(path, "does not exist"))
            .collect();
    };
    let kinds = match kinds(events) {
        Ok(kinds) => kinds,
        Err(breach) => return vec![Violation::new(EVENTS, breach)],
    };
    let words: Vec<&str> = pages
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    kinds
        .iter()
        .filter(|kind| !words.contains(&kind.as_str()))
        .map(|kind| Violation::new(PAGES, format!("does not name the event kind {kind}")))
        .collect()
}

fn kinds(events: &str) -> Result<Vec<String>, String> {
    let file = syn::parse_file(events).map_err(|cause| format!("cannot be read: {cause}"))?;
    let kind = file.items.iter().find_map(|item| match item {
        Item::Enum(found) if found.ident == "Kind" => Some(found),
        _ => None,
    });
    let kind = kind.ok_or("has no `enum Kind`")?;
    Ok(kind
        .variants
        .iter()
        .map(|variant| variant.ident.to_string())
        .collect())
}

mod tests {
    use super::*;

    const TWO: &str = "pub enum Other { A }\npub enum Kind { TurnStarted { by: u8 }, Delta(u8) }";

    #[test]
    fn a_kind_that_the_pages_do_not_name_and_a_file_that_is_away_are_violations() {
        let not_named = Violation::new(PAGES, "does not name the event kind Delta");
        let missing = |path| Violation::new(path, "does not exist");
        let no_kind = Violation::new(EVENTS, "has no `enum Kind`");
        for (events, pages, expected) in [
            (Some(TWO), Some("| `Delta` | …\n| `TurnStarted` |"), vec![]),
            (
                Some(TWO),
                Some("`TurnStarted`, `DeltaFolded`"),
                vec![not_named],
            ),
            (None, Some(""), vec![missing(EVENTS)]),
            (Some(TWO), None, vec![missing(PAGES)]),
            (None, None, vec![missing(EVENTS), missing(PAGES)]),
            (Some("struct Kind;"), Some(""), vec![no_kind]),
        ] {
            assert_eq!(unexplained(events, pages), expected, "{events:?} {pages:?}");
        }
    }
}
