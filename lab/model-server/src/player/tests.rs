use futures_util::FutureExt;
use http_body_util::BodyExt;
use tokio::sync::Notify;

use super::*;
use crate::script::say;

struct Show {
    body: Playing,
    exchange: Arc<Exchange>,
}

/// Plays two deltas, `one` and `two`, without HTTP around them.
fn show(reply: Reply) -> Show {
    let exchange = Arc::new(Exchange::new(Arc::new(Notify::new())));
    let stage = Stage {
        reply: Arc::new(reply),
        gates: Arc::default(),
        wire: Arc::default(),
        exchange: exchange.clone(),
    };
    let frame = |text: &'static str| Frame {
        bytes: Bytes::from_static(text.as_bytes()),
        deltas: 1,
        is_all: false,
    };
    let body = play([frame("one"), frame("two")].into_iter(), stage);
    Show { body, exchange }
}

/// What comes without waiting.
#[derive(Debug, PartialEq)]
enum Next {
    Sent(&'static str),
    Pause,
    Broken,
    Over,
}

impl Show {
    fn next(&mut self) -> Next {
        match self.body.frame().now_or_never() {
            None => Next::Pause,
            Some(None) => Next::Over,
            Some(Some(Err(BrokenOff))) => Next::Broken,
            Some(Some(Ok(frame))) => {
                let bytes = frame.into_data().unwrap();
                let known = ["one", "two", "o", "n", "e"];
                Next::Sent(known.into_iter().find(|known| bytes == *known).unwrap())
            }
        }
    }
}

#[test]
fn a_split_waits_until_the_kernel_has_what_came_before() {
    let mut show = show(say("").split_at(Point::Bytes(2)).split_at(Point::Bytes(1)));

    for piece in ["o", "n"] {
        assert_eq!(show.next(), Next::Sent(piece));
        assert_eq!(show.next(), Next::Pause);
        show.exchange.settle();
    }
    assert_eq!(show.next(), Next::Sent("e"));
    assert_eq!(show.next(), Next::Sent("two"));
    assert_eq!(show.next(), Next::Over);
}

#[test]
fn a_cut_waits_until_the_kernel_has_what_came_before() {
    let mut show = show(say("").cut_after(1, Ending::Close));

    assert_eq!(show.next(), Next::Sent("one"));
    assert_eq!(show.next(), Next::Pause);
    assert_eq!(show.exchange.ended(), None);
    show.exchange.settle();
    assert_eq!(show.next(), Next::Broken);
    assert_eq!(show.exchange.ended(), Some(Ended::Cut));
    assert_eq!(show.exchange.written_deltas(), 1);
}

#[test]
fn all_is_written_only_when_the_kernel_has_it() {
    let mut show = show(say(""));

    assert_eq!(show.next(), Next::Sent("one"));
    assert_eq!(show.next(), Next::Sent("two"));
    assert_eq!(show.exchange.ended(), None);
    assert_eq!(show.exchange.written_deltas(), 0);
    show.exchange.settle();
    assert_eq!(show.exchange.ended(), Some(Ended::Complete));
    assert_eq!(show.exchange.written_deltas(), 2);
}
