use super::super::request::Detail;
use super::*;

const ANSWER: &str = "6 entries in .\n\
          12  a b.txt\n\
           -  docs/\n\
           -  link@\n\
          12  A.TXT\n\
  1234567890123   lead.md\n\
           0  пусто  два.txt\n\
[2 entries  left out by .gitignore]";

fn listing(order: Order, kind: Kind) -> Listing {
    Listing {
        folder: None,
        count: None,
        order,
        kind,
        detail: Detail::Names,
    }
}

fn names(listing: &Listing, without: Option<&str>) -> Vec<String> {
    let chosen = Entries::parse(ANSWER).choose(listing, without);
    chosen.iter().map(|entry| entry.name.to_owned()).collect()
}

#[test]
fn names_keep_their_spaces_and_folders_are_no_files() {
    let entries = Entries::parse(ANSWER);
    assert!(!entries.is_cut);
    assert_eq!(entries.notes, ["[2 entries  left out by .gitignore]"]);
    let nodes: Vec<_> = entries
        .all
        .iter()
        .map(|entry| (entry.name, entry.node))
        .collect();
    assert_eq!(
        nodes,
        [
            ("a b.txt", Node::File(12)),
            ("docs", Node::Folder),
            ("link", Node::Other),
            ("A.TXT", Node::File(12)),
            (" lead.md", Node::File(1_234_567_890_123)),
            ("пусто  два.txt", Node::File(0)),
        ]
    );
    assert!(Entries::parse("1,200 entries in ., first 1,000 shown\n           1  a").is_cut);
}

#[test]
fn entries_are_chosen_by_kind_and_order_and_ties_go_by_name() {
    let by_size = [" lead.md", "a b.txt", "A.TXT", "пусто  два.txt"];
    assert_eq!(names(&listing(Order::Largest, Kind::Files), None), by_size);
    let smallest = ["пусто  два.txt", "a b.txt", "A.TXT", " lead.md"];
    assert_eq!(
        names(&listing(Order::Smallest, Kind::Files), None),
        smallest
    );
    let texts = ["a b.txt", "A.TXT", "пусто  два.txt"];
    assert_eq!(
        names(&listing(Order::Name, Kind::Ending("txt".to_owned())), None),
        texts
    );
    assert_eq!(names(&listing(Order::Name, Kind::Folders), None), ["docs"]);
    let reversed = [
        "пусто  два.txt",
        "link",
        "docs",
        "A.TXT",
        "a b.txt",
        " lead.md",
    ];
    assert_eq!(
        names(&listing(Order::NameReversed, Kind::Any), None),
        reversed
    );
}

#[test]
fn a_path_is_left_out_however_it_is_spelled() {
    let texts = listing(Order::Name, Kind::Ending("txt".to_owned()));
    for path in ["a b.txt", "./a b.txt", "docs/../a b.txt", ".//a b.txt"] {
        assert_eq!(
            names(&texts, Some(path)),
            ["A.TXT", "пусто  два.txt"],
            "{path}"
        );
    }
    assert_eq!(names(&texts, Some("docs/a b.txt")).len(), 3);
    let docs = Listing {
        folder: Some("docs/".to_owned()),
        ..texts
    };
    assert_eq!(
        names(&docs, Some("docs/a b.txt")),
        ["A.TXT", "пусто  два.txt"]
    );
    assert_eq!(names(&docs, Some("a b.txt")).len(), 3);
}

#[test]
fn the_text_of_a_file_is_read_with_its_tabs_and_what_was_cut() {
    let check = |text: &str, lines: &[&str], [first, last]: [u64; 2], told: &[&str]| {
        let (shown, notes) = (lines.to_vec(), told.to_vec());
        assert_eq!(
            FileText::parse(text),
            FileText::Lines {
                shown,
                first,
                total: last,
                notes
            }
        );
    };
    let text = "     1\ta\tb\n     2\t\n     3\t[lines 1-2 of 9; x]";
    check(text, &["a\tb", "", "[lines 1-2 of 9; x]"], [1, 3], &[]);
    let part = "     5\ta\n[CRLF line ends]\n[lines 5-5 of 300; call again with offset=6]";
    check(part, &["a"], [5, 300], &["[CRLF line ends]"]);
    let note = "[lines 1-1 of at least 9; call again with offset=2]";
    check(&format!("     1\ta\n{note}"), &["a"], [1, 9], &[note]);
    assert_eq!(FileText::parse("[empty file]"), FileText::Empty);
    assert_eq!(
        FileText::parse("[binary file, 12 bytes]"),
        FileText::NotText
    );
}

#[test]
fn matches_are_told_from_notes() {
    let none = Matches::parse("no match\n[1 file is not text]");
    assert_eq!((none.head, none.notes.len()), (None, 1));
    let some = Matches::parse("2 matches in 2 files\na:1: x\n[b]:2: [x]\n[1 file is not text]");
    assert_eq!(some.head, Some("2 matches in 2 files"));
    assert_eq!(
        (some.lines, some.notes),
        (vec!["a:1: x", "[b]:2: [x]"], vec!["[1 file is not text]"])
    );
}

#[test]
fn a_post_is_known_by_its_number() {
    for (answer, id) in [
        ("posted as message 41", "41"),
        (" 7\n", "7"),
        ("posted", "posted"),
        ("", ""),
    ] {
        assert_eq!(posted(answer), id);
    }
}
