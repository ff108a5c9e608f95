use axum::body::BodyDataStream;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::Notify;

use super::*;
use crate::script::say;

struct Show {
    body: BodyDataStream,
    exchange: Arc<Exchange>,
}

/// Plays two deltas, `one` and `two`, without HTTP around them.
fn show(reply: Reply) -> Show {
    let exchange = Arc::new(Exchange::new(Arc::new(Notify::new())));
    let stage = Stage {
        reply: Arc::new(reply),
        gates: Arc::default(),
        connection: Connection::default(),
        exchange: exchange.clone(),
    };
    let frames = ["one", "two"].map(|text| Frame::part(text.to_owned()));
    let body = play(Box::new(frames.into_iter()), stage).into_data_stream();
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
        match self.body.next().now_or_never() {
            None => Next::Pause,
            Some(None) => Next::Over,
            Some(Some(Err(_))) => Next::Broken,
            Some(Some(Ok(bytes))) => {
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
    assert_eq!(show.exchange.ended(), Some(ExchangeEnd::Cut));
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
    assert_eq!(show.exchange.ended(), Some(ExchangeEnd::Complete));
    assert_eq!(show.exchange.written_deltas(), 2);
}
