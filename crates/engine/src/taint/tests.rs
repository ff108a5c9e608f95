use serde_json::json;

use super::*;

fn page(text: &str) -> Outcome {
    Outcome::done(text)
}

/// What a person says, what is fetched, and whether they gave that.
const GIVEN: &[(&str, &str, bool)] = &[
    ("read https://example.com/a", "https://example.com/a", true),
    (
        "read https://example.com/a",
        "http://www.example.com/a/#top",
        true,
    ),
    (
        "read https://example.com/a",
        "https://example.com/a?q=secret",
        false,
    ),
    (
        "read https://example.com/a",
        "https://example.com/a/secret",
        false,
    ),
    (
        "read https://example.com/a",
        "https://example.com:8443/a",
        false,
    ),
    (
        "read https://example.com/a",
        "https://secret@example.com/a",
        false,
    ),
    (
        "read https://example.com/a",
        "https://secret.example.com/a",
        false,
    ),
    (
        "read https://example.com/a",
        "https://example.com.evil.net/a",
        false,
    ),
    (
        "read https://example.com/?to=https://evil.net",
        "https://evil.net",
        false,
    ),
    (
        "read https://example.com/?to=https://evil.net",
        "https://example.com/?to=https://evil.net",
        true,
    ),
    (
        "https://example.com@evil.net/",
        "https://example.com/",
        false,
    ),
    (
        "what is new on www.Example.com?",
        "https://example.com",
        true,
    ),
    (
        "what is new on example.com/docs?",
        "https://example.com/docs",
        true,
    ),
    (
        "what is new on example.com/docs?",
        "https://example.com/docs/a",
        false,
    ),
    ("look at example.com.", "https://example.com./", true),
    (
        "(see `http://127.0.0.1:8000/x`)",
        "http://127.0.0.1:8000/x",
        true,
    ),
    (
        "[it](https://a.example/b_(c)), and more",
        "https://a.example/b_(c)",
        true,
    ),
    (
        "https://a.example/x,https://b.example/y",
        "https://b.example/y",
        true,
    ),
    ("HTTPS://EXAMPLE.COM", "https://example.com", true),
    (
        "öffne münchen.example",
        "https://xn--mnchen-3ya.example/",
        true,
    ),
    ("<http://[::1]:80/>", "http://[::1]/", true),
    ("write to me@example.com", "https://example.com", false),
    ("mend main.rs and README.md", "https://main.rs/", false),
    ("mend main.rs and README.md", "https://readme.md/", false),
    ("mend main.tf and Makefile.am", "https://main.tf/", false),
    ("of 3.14 and v1.2", "https://3.14", false),
    ("example.com", "ftp://example.com", false),
    ("", "https://example.com", false),
];

// proves TL-10
#[test]
fn a_person_gives_whole_addresses_and_nothing_that_looks_alike() {
    for &(said, fetched, is_given) in GIVEN {
        let taint = Taint::default();
        taint.hear(said);
        let standing = taint.standing(fetched);
        assert_eq!(
            standing == Standing::Given,
            is_given,
            "{said:?} {fetched:?}"
        );
    }
}

// proves TL-10
#[test]
fn a_page_links_to_what_stands_in_its_text_and_so_many_links_are_followed_in_a_turn() {
    let taint = Taint::default();
    taint.taint();
    let links: Vec<_> = (0..=MAX_FOLLOWED)
        .map(|at| format!("https://b.example/{at}"))
        .collect();
    let text = format!(
        "see [b](https://b.example/x?y=1 \"b\") or [![](https://i.example/1)](https://b.example/a)\
         [b](https://b.example/b_(b))[c](https://b.example/c) or {} and c.example",
        links.join(" ")
    );
    taint.read(OutsideText::Page, &page(&text));
    taint.read(
        OutsideText::Page,
        &Outcome::failed("not fetched: https://made.example/up"),
    );
    taint.read(OutsideText::Plain, &page("https://plain.example/"));
    let standing = |address: &str| taint.standing(address);
    for linked in [
        "https://b.example/x?y=1",
        "https://i.example/1",
        "https://b.example/a",
        "https://b.example/b_(b)",
        "https://b.example/c",
    ] {
        assert_eq!(standing(linked), Standing::Linked, "{linked}");
    }
    for unknown in [
        "https://b.example/x?y=12",
        "https://b.example/",
        "https://c.example/",
        "https://made.example/up",
        "https://plain.example/",
    ] {
        assert_eq!(standing(unknown), Standing::Unknown, "{unknown}");
    }
    taint.follow("https://unknown.example/");
    for link in &links[..MAX_FOLLOWED] {
        assert_eq!(standing(link), Standing::Linked, "{link}");
        taint.follow(link);
    }
    assert_eq!(standing(&links[MAX_FOLLOWED]), Standing::LinkedTooMany);
    taint.give(&links[0]);
    assert_eq!(standing(&links[0]), Standing::Given);
    taint.begin_turn();
    assert_eq!(standing(&links[MAX_FOLLOWED]), Standing::Linked);
}

// proves TL-10
#[test]
fn a_search_gives_its_results_unless_it_ran_unasked_after_text_from_outside() {
    let found = || {
        let results = json!([{"title": "https://title.net", "url": "https://found.net/x",
            "snippet": "see https://evil.net"}]);
        Outcome::done("1. https://text.net").with_data(json!({"results": results}))
    };
    // How it ran, whether its result counts, and whether the next search is asked about.
    for (is_allowed, counts, may_search) in [
        (None, true, false),
        (Some(true), true, true),
        (Some(false), false, false),
    ] {
        let taint = Taint::default();
        taint.taint();
        let mut outcome = found();
        mark_search(&mut outcome, OutsideText::Search, is_allowed);
        taint.read(OutsideText::Search, &outcome);
        let is_given = |address: &str| taint.standing(address) == Standing::Given;
        assert_eq!(is_given("https://found.net/x"), counts, "{is_allowed:?}");
        assert_eq!(taint.may_search(), may_search, "{is_allowed:?}");
        for never in [
            "https://found.net/",
            "https://title.net",
            "https://evil.net",
            "https://text.net",
        ] {
            assert!(!is_given(never), "{never}");
        }
    }
}

// proves TL-10
#[test]
fn a_taint_stays_and_an_allowed_address_gives_itself_alone() {
    let taint = Taint::default();
    assert!(taint.may_search());
    taint.taint();
    taint.keep(false);
    assert!(taint.is_tainted() && !taint.may_search());

    taint.give("https://ok.example/a,evil.net/(https://worse.net/)");
    let given = |address: &str| taint.standing(address) == Standing::Given;
    assert!(given("https://ok.example/a,evil.net/(https://worse.net/)"));
    assert!(!given("https://evil.net/") && !given("https://worse.net/"));
}

#[test]
fn the_newest_of_what_is_known_is_kept_within_a_bound() {
    let taint = Taint::default();
    let address = |at: usize| format!("https://h{at}.example/");
    for at in 0..2 * MAX_GIVEN {
        taint.hear(&address(at));
    }
    assert_eq!(taint.known().given.len(), MAX_GIVEN);
    assert_eq!(taint.standing(&address(0)), Standing::Unknown);
    assert_eq!(taint.standing(&address(2 * MAX_GIVEN - 1)), Standing::Given);
}
