use super::super::request::{Detail, Kind, Listing, Order, Places, Wording};
use super::super::text;
use super::*;

/// A request in one line: language, job, `>` file, `!` words that were not used.
fn brief(text: &str) -> String {
    brief_request(&understand(text))
}

fn brief_request(request: &Request) -> String {
    let language = match request.language {
        Language::English => "en",
        Language::Russian => "ru",
        Language::Chinese => "zh",
        Language::Ukrainian => "uk",
    };
    let job = match &request.job {
        Ok(Job::Ask(asking)) => {
            let deed = asking.trial(request.language, &request.given);
            let deed = deed.map(|deed| brief_request(&deed));
            let deed = deed.map(|deed| deed.split_once(": ").unwrap().1.to_owned());
            format!(
                "ask {:?}, {}",
                asking.topic,
                deed.unwrap_or("say".to_owned())
            )
        }
        Ok(job) => brief_job(job),
        Err(unclear) => format!("{unclear:?}"),
    };
    let unused = request.unused.join(" ");
    format!(
        "{language}: {job}{}{unused}",
        if unused.is_empty() { "" } else { " ! " }
    )
}

fn brief_job(job: &Job) -> String {
    match job {
        Job::Report { source, goal } => {
            let source = brief_source(source);
            match goal {
                Goal::Answer => source,
                Goal::Unnamed => format!("{source} > ?"),
                Goal::Chat => format!("{source} > chat"),
                Goal::File(Sink {
                    path,
                    mode: Mode::Write,
                }) => format!("{source} > {path}"),
                Goal::File(Sink {
                    path,
                    mode: Mode::Append,
                }) => format!("{source} >> {path}"),
            }
        }
        Job::Replace {
            path,
            old,
            new,
            places,
        } => {
            let all = if *places == Places::All { "all " } else { "" };
            format!("replace {all}<{old}> <{new}> in {path}")
        }
        Job::Post(text) => format!("post <{text}>"),
        Job::Ask(_) | Job::Greet | Job::Introduce | Job::Help => format!("{job:?}"),
    }
}

fn brief_source(source: &Source) -> String {
    match source {
        Source::List(listing) => format!("list {}", brief_listing(listing)),
        Source::Count(listing) => format!("count {}", brief_listing(listing)),
        Source::Read { paths, lines: None } => format!("read {}", paths.join(" | ")),
        Source::Read {
            paths,
            lines: Some(lines),
        } => {
            format!("read {lines} of {}", paths.join(" | "))
        }
        Source::Lines(paths) => format!("lines {}", paths.join(" | ")),
        Source::Search { text, path } => {
            format!("search <{text}> in {}", path.as_deref().unwrap_or("."))
        }
        Source::Sum(expression) => format!("sum {expression}"),
        Source::Dictated {
            text,
            wording: Wording::Marked,
        } => format!("text <{text}>"),
        Source::Dictated {
            text,
            wording: Wording::Plain,
        } => format!("new text <{text}>"),
    }
}

fn brief_listing(listing: &Listing) -> String {
    let count = listing
        .count
        .map_or("all".to_owned(), |count| count.to_string());
    let kind = match &listing.kind {
        Kind::Any => "entries",
        Kind::Files => "files",
        Kind::Folders => "folders",
        Kind::Ending(ending) => ending,
    };
    let order = match listing.order {
        Order::Name => "",
        Order::NameReversed => " reversed",
        Order::Largest => " largest",
        Order::Smallest => " smallest",
    };
    let sizes = if listing.detail == Detail::Sizes {
        " with sizes"
    } else {
        ""
    };
    let folder = listing.folder.as_deref().unwrap_or(".");
    format!("{count} {kind}{order} in {folder}{sizes}")
}

/// Each line is a sentence, `=>`, and what is understood.
fn check(table: &str) {
    let rows: Vec<_> = table
        .trim()
        .lines()
        .map(|row| row.split_once(" => ").unwrap())
        .collect();
    let wrong = rows
        .iter()
        .filter(|(text, expected)| brief(text) != *expected);
    let wrong: Vec<_> = wrong
        .map(|(text, expected)| format!("{text}\n  is  {}\n  not {expected}", brief(text)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// proves FC-5
#[test]
fn plain_requests_in_english_are_understood() {
    check(include_str!("tests/english.txt"));
}

// proves FC-5
#[test]
fn plain_requests_in_russian_are_understood() {
    check(include_str!("tests/russian.txt"));
}

// proves FC-5
#[test]
fn plain_requests_in_chinese_are_understood() {
    check(include_str!("tests/chinese.txt"));
}

// proves FC-5
#[test]
fn plain_requests_in_ukrainian_are_understood() {
    check(include_str!("tests/ukrainian.txt"));
}

// proves FC-5
#[test]
fn requests_to_ask_first_are_understood_in_every_language() {
    check(include_str!("tests/asking.txt"));
}

// proves FC-5
#[test]
fn requests_to_post_in_the_chat_are_understood_in_every_language() {
    check(include_str!("tests/posting.txt"));
}

// proves FC-5
#[test]
fn what_is_not_understood_in_whole_is_refused_or_said() {
    check(include_str!("tests/refused.txt"));
}

#[test]
fn a_number_a_name_and_an_order_vary_on_their_own() {
    let numbers = [
        ("two", 2),
        ("7", 7),
        ("a dozen", 12),
        ("thirty one", 31),
        ("1,000", 1_000),
    ];
    let orders = [
        ("largest", " largest"),
        ("biggest", " largest"),
        ("smallest", " smallest"),
        ("last", " reversed"),
    ];
    let names = [
        "a.txt",
        "\"x y.md\"",
        "“été 1.txt”",
        "`a`",
        "'so so.txt'",
        "«и.txt»",
        "big file list.txt",
    ];
    for (number, count) in numbers {
        for (order, ordered) in orders {
            for name in names {
                let text =
                    format!("list the {number} {order} files here and write their names to {name}");
                let plain = name.trim_matches(['"', '“', '”', '`', '\'', '«', '»']);
                assert_eq!(
                    brief(&text),
                    format!("en: list {count} files{ordered} in . > {plain}"),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn a_text_that_is_too_long_is_refused_in_its_language() {
    assert_eq!(brief(&"покажи файлы ".repeat(10_000)), "ru: TooLong");
    assert_eq!(brief(&"列".repeat(text::MAX_TOKENS + 1)), "zh: TooLong");
    assert_eq!(
        brief(&format!("write \"{}\" to a.txt", "é".repeat(40_000))),
        "en: TooLong"
    );
}

// proves FC-5
#[test]
fn questions_behind_questions_are_asked_up_to_a_bound() {
    let asks = |count: usize| ["ask me my name"; 500][..count].join(" and ");
    let names = ["ask Name"; 4].join(", ");
    assert_eq!(brief(&asks(4)), format!("en: {names}, say"));
    for count in [5, 6, 390] {
        assert_eq!(brief(&asks(count)), "en: TooLong");
    }
}
