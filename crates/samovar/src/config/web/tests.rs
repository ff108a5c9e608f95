use samovar_config::Sources;

use super::*;

const OURS: &str = "SAMOVAR__TOOLS__WEB__SEARCH_API_KEY";
const SEARCH: &str = "SAMOVAR__TOOLS__WEB__SEARCH";
const URL: &str = "SAMOVAR__TOOLS__WEB__SEARCH_URL";

fn of(variables: &[(&str, &str)]) -> Result<Option<WebSearch>, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let set = [("HOME", path)]
        .into_iter()
        .chain(variables.iter().copied());
    let sources = Sources {
        here: folder.path().to_owned(),
        environment: set
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        keys: crate::config::KEYS.clone(),
        ..Sources::default()
    };
    search(&sources.resolve().unwrap())
}

/// What is set, the service that it means, and its key.
type Row<'a> = (&'a [(&'a str, &'a str)], SearchService, Option<&'a str>);

// proves TL-2
#[test]
fn the_search_is_the_one_that_is_named_or_the_one_that_has_a_key_or_an_address() {
    use SearchService::{Brave, Searxng, Tavily};
    let here = "http://127.0.0.1:8888";
    let rows: [Row<'_>; 11] = [
        (&[(OURS, "k1")], Brave, Some("k1")),
        (&[(BRAVE, "k2")], Brave, Some("k2")),
        (&[(TAVILY, "k3")], Tavily, Some("k3")),
        (&[(BRAVE, "k2"), (TAVILY, "k3")], Brave, Some("k2")),
        (
            &[(BRAVE, "k2"), (TAVILY, "k3"), (SEARCH, "tavily")],
            Tavily,
            Some("k3"),
        ),
        (
            &[(OURS, "k1"), (TAVILY, "k3"), (SEARCH, "tavily")],
            Tavily,
            Some("k1"),
        ),
        (&[(BRAVE, "k2"), (SEARCH, "tavily")], Tavily, None),
        (&[(SEARCH, "brave")], Brave, None),
        (&[(URL, here)], Searxng, None),
        (
            &[(URL, here), (BRAVE, "k2"), (SEARCH, "searxng")],
            Searxng,
            None,
        ),
        (&[(URL, here), (BRAVE, "k2")], Brave, Some("k2")),
    ];
    for (variables, service, key) in rows {
        let found = of(variables).unwrap().unwrap();
        let found_key = found.key.as_ref().map(Secret::expose);
        assert_eq!((found.service, found_key), (service, key), "{variables:?}");
        let has_url = variables.iter().any(|(name, _)| *name == URL);
        assert_eq!(found.url.is_some(), has_url, "{variables:?}");
    }
    assert!(of(&[]).unwrap().is_none());
    for wrong in [
        "127.0.0.1:8888",
        "ftp://search.example",
        "http://me:pw@search.example",
    ] {
        let refusal = of(&[(URL, wrong)]).unwrap_err().to_string();
        assert!(refusal.contains("http://127.0.0.1:8888"), "{refusal}");
        assert!(!refusal.contains("pw"), "{refusal}");
    }
}
