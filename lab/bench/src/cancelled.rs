//! How long a turn continues after a cancel.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::sync::SetOnce;
use tokio::time::{Instant, timeout};

use crate::client::{Client, PATIENCE, ServerAccess, share_out};
use crate::model::Model;
use crate::program::Program;
use crate::sample::{Sample, percentiles};

/// How many turns are cancelled for one value.
const CANCELS: u32 = 200;

/// How many of them run at the same time.
const AT_ONCE: u32 = 10;

const VALUES: u32 = 3;

/// Time between the words of the model.
const PACE: Duration = Duration::from_millis(20);

/// Deltas before the cancel.
const DELTAS: usize = 3;

/// When the connection to the model of each turn was closed.
type HungUp = Arc<Vec<SetOnce<Instant>>>;

/// From the request to cancel until the stream of the turn has ended and the connection to its model
/// is closed, whichever is later, in milliseconds; each value is the 99th percentile of many.
pub(crate) async fn measure(program: &Program<'_>) -> Result<Vec<Sample>> {
    let slowest = Sample::take(VALUES, async || cancels(program).await);
    Ok(vec![slowest.await?])
}

async fn cancels(program: &Program<'_>) -> Result<f64> {
    let hung_up: HungUp = Arc::new((0..CANCELS).map(|_| SetOnce::new()).collect());
    let noted = hung_up.clone();
    let model = Model::start(move |talk| {
        let noted = noted.clone();
        async move {
            let number: usize = talk.last_user().parse()?;
            let noted = noted.get(number).context("no such turn")?;
            // The client may hang up during a word, too.
            while !talk.is_left_within(PACE).await && talk.say("word ", 1).await.is_ok() {}
            Ok(noted.set(Instant::now())?)
        }
    });
    let model = model.await?;
    let serving = program.asking(&model)?.serve().await?;
    let took = share_out(&serving.way_in, AT_ONCE, CANCELS, |mut client, numbers| {
        let (way_in, hung_up) = (serving.way_in.clone(), hung_up.clone());
        async move {
            let mut took = Vec::new();
            for number in numbers {
                took.push(cancel(&way_in, &mut client, number, &hung_up).await?);
            }
            Ok(took)
        }
    });
    let took = took.await?.concat();
    serving.stop().await?;
    let [slowest] = percentiles(took, [99.0])?;
    Ok(slowest)
}

async fn cancel(
    way_in: &ServerAccess,
    client: &mut Client,
    number: u32,
    hung_up: &HungUp,
) -> Result<Duration> {
    let session = format!("s-{number}");
    client.make_session(&session).await?;
    let turn = Client::connect(way_in).await?;
    let mut turn = turn.send(&session, &number.to_string()).await?;
    turn.deltas(DELTAS).await?;

    let asked = Instant::now();
    client
        .call("cancel", &json!({"sessionId": session}))
        .await?;
    let is_cancelled = |event: &Value| event["finishReason"] == "cancelled";
    turn.until_nth(1, is_cancelled).await?;
    while turn.next::<Value>().await?.is_some() {}
    let ended = Instant::now();

    let closed = timeout(PATIENCE, hung_up[number as usize].wait()).await;
    let closed = closed.context("the connection to the model stays open")?;
    Ok(ended.max(*closed) - asked)
}
