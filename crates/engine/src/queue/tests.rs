use samovar_core::{Message, MessageId, Millis, Role};

use super::*;

fn turn(name: &str) -> TurnId {
    TurnId::new(name).unwrap()
}

fn queued(name: &str, entry: Entry) -> Queued {
    let message = Message::new(
        MessageId::new(name).unwrap(),
        Role::User,
        Vec::new(),
        Millis(0),
    );
    Queued {
        turn: turn(name),
        message: Arc::new(message),
        bounds: Bounds::default(),
        entry,
        situation: None,
    }
}

fn queue(waiting: &[(&str, Entry)]) -> Queue {
    let queue = Queue::default();
    for (name, entry) in waiting {
        queue.push(queued(name, *entry));
    }
    queue
}

/// Everything that waits, the next first.
fn order(queue: &Queue) -> Vec<String> {
    let next = std::iter::from_fn(|| queue.pop());
    next.map(|queued| queued.turn.to_string()).collect()
}

fn take(queue: &Queue, name: &str) -> (usize, Queued) {
    match queue.take(&turn(name)) {
        Removal::Out(at, queued) => (at, queued),
        other @ (Removal::Joining | Removal::Nothing) => panic!("{other:?}"),
    }
}

const MIXED: [(&str, Entry); 5] = [
    ("a", Entry::Own),
    ("s", Entry::Steers),
    ("i", Entry::Interrupts),
    ("b", Entry::Own),
    ("j", Entry::Interrupts),
];

// proves AS-11
#[test]
fn what_interrupts_goes_before_what_does_not_and_each_kind_keeps_its_order() {
    let queue = queue(&MIXED);
    assert!(queue.interrupts());
    assert_eq!(queue.len(), 5);

    assert_eq!(order(&queue), ["i", "j", "a", "s", "b"]);

    assert!(!queue.interrupts());
    assert!(queue.is_empty());
}

#[test]
fn what_is_taken_out_is_nobody_elses_until_it_is_put_back_at_its_place() {
    let queue = queue(&MIXED);

    let (at, taken) = take(&queue, "s");
    assert!(matches!(queue.take(&turn("s")), Removal::Nothing));
    assert_eq!(queue.take_steering().len(), 0);
    queue.put_back(at, taken);

    let (at, last) = take(&queue, "b");
    take(&queue, "s");
    // Its place is gone with what stood before it.
    queue.put_back(at, last);
    assert_eq!(order(&queue), ["i", "j", "a", "b"]);
}

// proves AS-11
#[test]
fn what_joins_a_turn_counts_as_waiting_and_can_neither_begin_nor_be_cancelled() {
    let queue = queue(&MIXED);

    let steering = queue.take_steering();

    assert_eq!(steering.len(), 1);
    assert_eq!(queue.len(), 5, "it may come back");
    assert!(matches!(queue.take(&turn("s")), Removal::Joining));
    assert_eq!(queue.take_steering().len(), 0, "it joins once");
    assert_eq!(order(&queue), ["i", "j", "a", "b"]);
    assert!(!queue.is_empty());
}

// proves AS-11
#[test]
fn what_has_joined_is_told_once_and_waits_no_more() {
    let queue = queue(&[("s", Entry::Steers), ("t", Entry::Steers)]);
    queue.take_steering();

    queue.have_joined(&turn("running"), Seq(7));

    queue.give_back();
    assert!(queue.is_empty());
    assert!(matches!(queue.take(&turn("s")), Removal::Nothing));
    let joined = queue.joined();
    let told = joined.iter().map(|one| (&one.was, &one.now, one.after));
    let (s, t, running) = (turn("s"), turn("t"), turn("running"));
    let wanted = [(&s, &running, Seq(7)), (&t, &running, Seq(7))];
    assert_eq!(told.collect::<Vec<_>>(), wanted);
    assert_eq!(queue.joined().len(), 0);
}

// proves AS-11
#[test]
fn what_could_not_join_waits_again_where_it_stood() {
    let (own, steers) = (Entry::Own, Entry::Steers);
    let queue = queue(&[("a", own), ("s", steers), ("t", steers), ("u", own)]);
    queue.take_steering();
    queue.push(queued("v", own));
    queue.push(queued("z", Entry::Interrupts));

    queue.give_back();

    assert_eq!(order(&queue), ["z", "a", "s", "t", "u", "v"]);
    assert_eq!(queue.joined().len(), 0);
}
