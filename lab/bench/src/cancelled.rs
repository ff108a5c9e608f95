//! How long a turn is still heard after somebody cancels it.

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::chat::{self, Chat, share_out};
use crate::model::Model;
use crate::now;
use crate::program::{Program, WayIn};
use crate::running::LOOK_EVERY;
use crate::sample::Sample;

/// How many turns are cancelled for one value.
const CANCELS: usize = 200;

/// How many of them run at once.
const AT_ONCE: usize = 10;

const VALUES: usize = 3;

/// What a model says next after.
const PACE: Duration = Duration::from_millis(20);

/// What of its answer is heard before it is cancelled.
const DELTAS: usize = 3;

/// How long a turn may be heard in the end.
const PATIENCE: Duration = Duration::from_secs(10);

/// When the connection of each turn's model was closed.
type HungUp = Vec<OnceLock<Instant>>;

/// From the request to cancel until the stream of the turn has ended and the connection to its model
/// is closed, whichever is later, in milliseconds; each value is the 99th percentile of many.
pub(crate) fn measure(program: &Program) -> Result<Vec<Sample>, String> {
    let values = (0..VALUES).map(|_| Ok(cancels(program)?.percentile(99)));
    let values = values.collect::<Result<Vec<_>, String>>()?;
    Ok(vec![Sample::of(values)?])
}

fn cancels(program: &Program) -> Result<Sample, String> {
    let hung_up: Arc<HungUp> = Arc::new((0..CANCELS).map(|_| OnceLock::new()).collect());
    let noted = Arc::clone(&hung_up);
    let model = Model::start(move |mut talk| {
        let number = talk.number_behind("turn ");
        while talk.say("word ", 1).is_ok() && !talk.is_left_within(PACE) {}
        if let Some(noted) = number.and_then(|number| noted.get(number)) {
            noted.get_or_init(now);
        }
        Ok(())
    })?;
    let program = program.asking(&model)?;
    let serving = program.serve()?;
    let took = share_out(AT_ONCE, CANCELS, |numbers| {
        let mut chat = Chat::open(&serving.way_in)?;
        let took = numbers.map(|number| cancel(&serving.way_in, &mut chat, number, &hung_up));
        took.collect::<Result<Vec<f64>, String>>()
    })?;
    serving.running.stop()?;
    Sample::of(took.concat())
}

fn cancel(way_in: &WayIn, chat: &mut Chat, number: usize, hung_up: &HungUp) -> Result<f64, String> {
    let session = format!("s-{number}");
    chat.make_session(&session)?;
    let mut turn = chat::say(way_in, &session, &format!("turn {number}"))?;
    turn.until_nth("text_delta", DELTAS)?;

    let asked = now();
    chat.call("cancel", &format!(r#"{{"sessionId":"{session}"}}"#))?;
    turn.until_nth("\"cancelled\"", 1)?;
    turn.until_nth("[DONE]", 1)?;
    let told = now();

    let hung_up = loop {
        if let Some(hung_up) = hung_up[number].get() {
            break *hung_up;
        }
        if told.elapsed() > PATIENCE {
            return Err("the connection to the model stays".to_owned());
        }
        thread::sleep(LOOK_EVERY);
    };
    let quiet = told.max(hung_up).saturating_duration_since(asked);
    Ok(quiet.as_secs_f64() * 1000.0)
}
