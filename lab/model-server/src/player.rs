//! The body of a response, played as its delivery says.

use std::{collections::VecDeque, io, iter::Peekable, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::{
    exchange::{Exchange, ExchangeEnd},
    matcher::Gates,
    script::{Delivery, Ending, Gate, Point, Reply},
    socket::{CloseMode, Connection},
    sse::Frame,
};

/// tokio refuses intervals without length, and times that no clock will ever show.
const SHORTEST_PACE: Duration = Duration::from_nanos(1);
const LONGEST_PACE: Duration = Duration::from_hours(24);

/// What a body is played with.
pub(crate) struct Stage {
    pub(crate) reply: Arc<Reply>,
    pub(crate) gates: Arc<Gates>,
    pub(crate) connection: Connection,
    pub(crate) exchange: Arc<Exchange>,
}

/// Plays `frames` as `stage.reply.delivery` says. The head counts as handed over.
pub(crate) fn play(frames: Box<dyn Iterator<Item = Frame> + Send>, stage: Stage) -> Body {
    stage.exchange.hand(0);
    let mut player = Player {
        frames: frames.peekable(),
        acts: VecDeque::new(),
        place: BodyPosition::default(),
        beat: None,
        ended: false,
        stage,
    };
    player.notice_the_end();
    Body::from_stream(stream::unfold(player, |mut player| async move {
        let bytes = player.next().await?;
        Some((bytes, player))
    }))
}

struct Player {
    frames: Peekable<Box<dyn Iterator<Item = Frame> + Send>>,
    acts: VecDeque<Act>,
    place: BodyPosition,
    beat: Option<Interval>,
    ended: bool,
    stage: Stage,
}

/// A step of playing one frame.
enum Act {
    Tick,
    Send { bytes: Bytes, deltas: usize },
    Hold(Gate),
    Split,
    Cut(Ending),
}

impl Player {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        while !self.ended {
            match self.acts.pop_front() {
                Some(Act::Tick) => self.tick().await,
                Some(Act::Send { bytes, deltas }) => {
                    self.stage.exchange.hand(deltas);
                    self.notice_the_end();
                    return Some(Ok(bytes));
                }
                Some(Act::Hold(gate)) => self.stage.gates.pass(&gate).await,
                Some(Act::Split) => self.stage.exchange.settled().await,
                Some(Act::Cut(how)) => return self.break_off(how).await,
                None => self.plan_next_frame(),
            }
        }
        None
    }

    /// hyper does not ask again after the last byte of a body of known length, so the end is
    /// noticed with the last piece and not when there is no other.
    fn notice_the_end(&mut self) {
        if self.acts.is_empty() && self.frames.peek().is_none() {
            self.ended = true;
            self.stage.exchange.hand_nothing_more();
        }
    }

    fn plan_next_frame(&mut self) {
        match self.frames.next() {
            Some(frame) => {
                let stops = self.place.enter(&frame, &self.stage.reply.delivery);
                plan(&frame, stops, &mut self.acts);
            }
            None => self.notice_the_end(),
        }
    }

    /// Waits between two deltas.
    async fn tick(&mut self) {
        let Some(pace) = self.stage.reply.delivery.pace else {
            return;
        };
        if let Some(beat) = &mut self.beat {
            beat.tick().await;
            return;
        }
        let every = pace.clamp(SHORTEST_PACE, LONGEST_PACE);
        let mut beat = interval_at(Instant::now() + every, every);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.beat = Some(beat);
    }

    async fn break_off(&mut self, how: Ending) -> Option<io::Result<Bytes>> {
        self.ended = true;
        // hyper throws away what it has not written when a body fails.
        self.stage.exchange.settled().await;
        self.stage.exchange.end(ExchangeEnd::Cut);
        match how {
            Ending::Body => None,
            Ending::Close => Some(Err(io::ErrorKind::ConnectionAborted.into())),
            Ending::Reset => {
                self.stage.connection.cut(CloseMode::Reset);
                Some(Err(io::ErrorKind::ConnectionAborted.into()))
            }
        }
    }
}

fn plan(frame: &Frame, stops: Vec<(usize, Act)>, acts: &mut VecDeque<Act>) {
    if frame.deltas > 0 {
        acts.push_back(Act::Tick);
    }
    let mut sent = 0;
    let end = (frame.bytes.len(), None);
    let stops = stops.into_iter().map(|(offset, stop)| (offset, Some(stop)));
    for (offset, stop) in stops.chain([end]) {
        if offset > sent {
            let is_last = offset == frame.bytes.len();
            acts.push_back(Act::Send {
                bytes: frame.bytes.slice(sent..offset),
                // A delta is out when its last byte is.
                deltas: if is_last { frame.deltas } else { 0 },
            });
            sent = offset;
        }
        acts.extend(stop);
    }
}

/// How much of the body lies before the frame that comes next.
#[derive(Default)]
struct BodyPosition {
    deltas: usize,
    bytes: usize,
    characters: usize,
}

impl BodyPosition {
    /// Moves past `frame` and returns the stops inside it, in order of their offsets.
    fn enter(&mut self, frame: &Frame, delivery: &Delivery) -> Vec<(usize, Act)> {
        let holds = delivery
            .holds
            .iter()
            .map(|hold| (hold.at, Act::Hold(hold.gate.clone())));
        let splits = delivery.splits.iter().map(|at| (*at, Act::Split));
        let cut = delivery.cut.map(|cut| (cut.at, Act::Cut(cut.how)));
        let mut stops: Vec<_> = holds
            .chain(splits)
            .chain(cut)
            .filter_map(|(at, stop)| Some((self.offset(at, frame)?, stop)))
            .filter(|(offset, _)| !frame.is_all || *offset < frame.bytes.len())
            .collect();
        stops.sort_by_key(|(offset, _)| *offset);
        self.deltas += frame.deltas;
        self.bytes += frame.bytes.len();
        self.characters += broad_characters(&frame.bytes).count();
        stops
    }

    /// Where in `frame` the place `at` is, if it is there.
    fn offset(&self, at: Point, frame: &Frame) -> Option<usize> {
        let length = frame.bytes.len();
        match at {
            Point::Deltas(0) | Point::Bytes(0) => (self.bytes == 0).then_some(0),
            Point::Deltas(deltas) => {
                let inside = self.deltas < deltas && deltas <= self.deltas + frame.deltas;
                inside.then_some(length)
            }
            Point::Bytes(bytes) => {
                let inside = self.bytes < bytes && bytes <= self.bytes + length;
                inside.then(|| bytes - self.bytes)
            }
            Point::IntoDelta { deltas, bytes } => {
                let inside = frame.deltas > 0 && self.deltas == deltas;
                inside.then(|| bytes.min(length))
            }
            Point::InsideCharacter(character) => {
                let here = character.checked_sub(self.characters)?;
                Some(broad_characters(&frame.bytes).nth(here)? + 1)
            }
        }
    }
}

/// Offsets of the first bytes of the characters that have several.
fn broad_characters(bytes: &[u8]) -> impl Iterator<Item = usize> {
    const FIRST_OF_SEVERAL: u8 = 0xC0;
    let firsts = bytes.iter().enumerate();
    firsts.filter_map(|(offset, byte)| (*byte >= FIRST_OF_SEVERAL).then_some(offset))
}

#[cfg(test)]
mod tests;
