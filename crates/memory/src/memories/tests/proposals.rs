use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::MAX_WAITING;

const PERSON: (About, Section) = (About::Person, Section::Facts);
const FOLDER: (About, Section) = (About::Folder, Section::Facts);

fn texts(memories: &Memories) -> Vec<String> {
    let all = memories.proposals().into_iter();
    all.map(|proposal| proposal.text).collect()
}

// proves MD-9, MD-14
#[test]
fn a_fact_for_every_folder_waits_until_it_is_accepted() {
    let place = Place::new();
    let memories = place.open();
    let propose = |call| memories.propose("Likes tea.", PERSON, None, origin(call));
    let kept = propose("c1").unwrap();
    assert!(!kept.was_there);
    assert_eq!(propose("c1").unwrap().id, kept.id, "the call was repeated");
    assert_eq!(propose("c2").unwrap().id, kept.id, "it says the same");
    assert_eq!(texts(&memories), ["Likes tea."]);
    assert_eq!(facts(&memories), [""; 0]);
    assert!(memories.tell().long_term.is_none());
    drop(memories);

    let memories = place.open();
    let memory = memories.accept(&kept.id, None).unwrap();
    assert_eq!(memory.source, Source::Person(Some(Section::Facts)));
    let own = place.text("own/MEMORY.md");
    assert!(
        own.starts_with("# Memory\n\n## Facts\n\n- Likes tea. <!-- "),
        "{own}"
    );
    assert_eq!(place.text("MEMORY.md"), "");
    assert_eq!(texts(&memories), [""; 0]);
    assert_eq!(place.text("memory/proposals.jsonl"), "");
    assert!(memories.accept(&kept.id, None).is_err());
    for call in ["c1", "c3"] {
        let again = memories.propose("likes tea", PERSON, None, origin(call));
        assert!(again.unwrap().was_there, "{call}");
    }
    assert_eq!(texts(&memories), [""; 0]);
}

// proves MD-14
#[test]
fn a_refused_proposal_is_not_made_again_and_fifty_wait_at_most() {
    let place = Place::new();
    let memories = place.open();
    let propose = |call: &str, text: &str, by| memories.propose(text, PERSON, by, origin(call));
    let kept = propose("c1", "Likes tea.", None).unwrap();
    propose("c2", "Likes tea.", Some("guest")).unwrap();
    assert_eq!(memories.refuse(&kept.id).unwrap().text, "Likes tea.");
    assert_eq!(memories.proposals()[0].by.as_deref(), Some("guest"));
    assert!(memories.refuse(&kept.id).is_err());
    drop(memories);
    assert!(
        !place
            .text("memory/proposals.jsonl")
            .contains(kept.id.as_str())
    );

    let memories = place.open();
    let propose = |call: &str, text: &str, by| memories.propose(text, PERSON, by, origin(call));
    let why = propose("c3", " likes  TEA!", None).unwrap_err();
    assert_eq!(why, locale::refused_before());
    for at in 1..MAX_WAITING {
        propose(&format!("d{at}"), &format!("Fact {at}."), None).unwrap();
    }
    let why = propose("c4", "One more.", None).unwrap_err();
    assert_eq!(why, locale::too_many_proposals(MAX_WAITING));
    assert_eq!(texts(&memories).len(), MAX_WAITING);
    assert!(propose("d1", "Fact 1.", None).unwrap().was_there);
}

// proves MD-11, MD-13
#[test]
fn a_tokens_session_learns_nothing_of_what_is_remembered() {
    let place = Place::new();
    let memories = place.open();
    let remembered = memories.remember("Likes tea.", Section::Facts, origin("c1"));
    fs::create_dir_all(place.file("own")).unwrap();
    fs::write(place.file("own/MEMORY.md"), "- Is 42.\n").unwrap();
    for (call, text, what) in [("c2", "Likes tea.", FOLDER), ("c3", "Is 42.", PERSON)] {
        let kept = memories.propose(text, what, Some("guest"), origin(call));
        assert!(!kept.unwrap().was_there, "{text}");
    }
    // What it says already is not written twice.
    let id = MemoryId::of_call("s", "c2");
    let memory = memories.accept(&id, None).unwrap();
    assert_eq!(memory.entry.id, remembered.unwrap().id);
    assert_eq!(place.text("MEMORY.md").matches("tea").count(), 1);
    assert_eq!(texts(&memories), ["Is 42."]);
}

// proves MD-10, TL-10
#[test]
fn the_mark_of_text_from_outside_stays_unless_the_person_writes_the_text() {
    let place = Place::new();
    let memories = place.open();
    let tainted = |call| Origin {
        is_tainted: true,
        ..origin(call)
    };
    let note = (About::Day, Section::Facts);
    let one = memories.propose("Drank tea.", note, Some("guest"), tainted("c1"));
    let other = memories.propose("Obey.", FOLDER, None, tainted("c2"));
    assert!(memories.proposals().iter().all(|proposal| proposal.outside));
    // The next day: the note is one of the day before.
    place
        .clock
        .0
        .store(BEFORE_MIDNIGHT + 60_000, Ordering::Relaxed);
    let one = memories.accept(&one.unwrap().id, None).unwrap();
    assert!(one.entry.is_tainted && one.entry.is_as_written);
    assert_eq!(one.source, Source::Day("2026-11-29".to_owned()));
    let note = place.text("memory/2026-11-29.md");
    assert!(note.starts_with("# 2026-11-29\n\n- Drank tea. <!-- ") && note.contains("outside -->"));

    let other = memories.accept(&other.unwrap().id, Some("Likes\ntea."));
    let other = other.unwrap().entry;
    assert_eq!(other.text, "Likes tea.");
    assert!(!other.is_tainted && !other.is_as_written);
}

// proves MD-13
#[test]
fn a_deletion_and_an_undo_take_proposals_with_them() {
    let place = Place::new();
    let memories = place.open();
    let turn = TurnId::new("t1").unwrap();
    let kept = memories.remember("Likes tea.", Section::Facts, origin("c1"));
    let same = memories
        .propose("likes tea", PERSON, None, origin("c2"))
        .unwrap();
    memories.forget(&kept.unwrap().id).unwrap();
    assert_eq!(texts(&memories), [""; 0]);
    let again = memories.propose("likes tea", PERSON, None, origin("c2"));
    assert_eq!(again.unwrap_err(), locale::deleted_since(&same.id));

    memories
        .propose("Is 42.", PERSON, None, origin("c3"))
        .unwrap();
    let guests = memories
        .propose("Is 43.", PERSON, Some("guest"), origin("c4"))
        .unwrap();
    memories
        .remember("Likes milk.", Section::Facts, origin("c5"))
        .unwrap();
    let gone = memories.forget_turns(std::slice::from_ref(&turn), Some("guest"));
    assert_eq!(gone.unwrap(), std::slice::from_ref(&guests.id));
    memories.finish();
    assert_eq!(
        (texts(&memories), facts(&memories)),
        (vec!["Is 42.".to_owned()], vec!["Likes milk.".to_owned()])
    );

    let gone = memories
        .forget_turns(std::slice::from_ref(&turn), None)
        .unwrap();
    assert_eq!((texts(&memories).len(), facts(&memories).len()), (0, 0));
    memories.put_back(&gone).unwrap();
    assert_eq!((texts(&memories).len(), facts(&memories).len()), (1, 1));
    assert!(memories.was_forgotten(&guests.id));
    memories.forget_turns(&[turn], None).unwrap();
    drop(memories);
    // A kill came before the lines went.
    let memories = place.open();
    assert!(place.text("memory/proposals.jsonl").is_empty());
    assert!(!place.text("MEMORY.md").contains("milk"));
    assert_eq!(texts(&memories), [""; 0]);
}

// proves MD-14
#[test]
fn what_a_hand_does_to_the_file_counts_and_what_it_broke_stays() {
    let place = Place::new();
    let memories = place.open();
    for call in ["c1", "c2"] {
        memories.propose(call, PERSON, None, origin(call)).unwrap();
    }
    let file = place.file("memory/proposals.jsonl");
    let text = place.text("memory/proposals.jsonl");
    let second = text
        .lines()
        .last()
        .unwrap()
        .replace("\"c2\"", "\"changed\"");
    fs::write(&file, format!("{{broken\n{second}")).unwrap();
    assert_eq!(texts(&memories), ["changed"]);
    memories.propose("c3", PERSON, None, origin("c3")).unwrap();
    assert_eq!(texts(&memories), ["changed", "c3"]);
    memories.refuse(&MemoryId::of_call("s", "c3")).unwrap();
    assert!(
        place
            .text("memory/proposals.jsonl")
            .starts_with("{broken\n")
    );

    // An accepted one of which a kill left the line waits no more.
    let waiting = place.text("memory/proposals.jsonl");
    memories
        .accept(&MemoryId::of_call("s", "c2"), None)
        .unwrap();
    fs::write(&file, waiting).unwrap();
    assert_eq!(texts(&memories), [""; 0]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    let why = memories
        .propose("c4", PERSON, None, origin("c4"))
        .unwrap_err();
    assert!(why.contains("it is read-only"), "{why}");
    assert_eq!(memories.problems().len(), 1);
}

// proves FC-10
#[test]
fn without_a_configuration_folder_nothing_is_proposed_for_every_folder() {
    let place = Place::new();
    let settings = Settings {
        person: None,
        ..place.open().settings().clone()
    };
    let memories = Memories::open(settings, place.clock.clone());
    let why = memories
        .propose("x", PERSON, None, origin("c1"))
        .unwrap_err();
    assert_eq!(why, locale::no_own_file());
}
