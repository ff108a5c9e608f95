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
    fn a_kind_that_the_pages_do_not_name_is_a_violation() {
        let expected = Violation::new(PAGES, "does not name the event kind Delta");

        assert_eq!(
            unexplained(Some(TWO), Some("`TurnStarted`, `DeltaFolded`")),
            [expected]
        );
    }

    #[test]
    fn kinds_that_are_named_are_fine() {
        assert_eq!(
            unexplained(Some(TWO), Some("| `Delta` | …\n| `TurnStarted` |")),
            []
        );
    }

    #[test]
    fn the_rule_cannot_be_met_by_moving_a_file_away() {
        let missing = |path| Violation::new(path, "does not exist");

        assert_eq!(unexplained(None, Some("")), [missing(EVENTS)]);
        assert_eq!(unexplained(Some(TWO), None), [missing(PAGES)]);
        assert_eq!(unexplained(None, None), [missing(EVENTS), missing(PAGES)]);
        assert_eq!(
            unexplained(Some("struct Kind;"), Some("")),
            [Violation::new(EVENTS, "has no `enum Kind`")]
        );
    }
}
