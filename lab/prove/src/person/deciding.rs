//! What a person does about calls that wait for a decision.

use serde_json::{Value, json};

use super::Person;
use crate::client::{Address, ServerGone};
use crate::observed::{AnswerStatus, Decided};

/// Where the calls are that wait.
const APPROVALS: &str = "/api/approvals";

/// What the server says if another decision came first, time was up, or the turn is over.
const LATE: [&str; 2] = ["unknown_approval", "approval_decided"];

impl Person {
    /// Decides about one of the calls that wait, sometimes twice at once. Some are left until they
    /// expire.
    pub(super) async fn decide(&mut self, at: &Address) -> Result<(), ServerGone> {
        let listed = self.get(at, APPROVALS).await?.unwrap_or_default();
        let items = listed.value["items"].as_array().map(Vec::as_slice);
        let Some(item) = self.dice.one_of(items.unwrap_or_default()) else {
            return Ok(());
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, call) = (text(&item["id"]), text(&item["callId"]));
        if call.bytes().map(u32::from).sum::<u32>().is_multiple_of(7) {
            return Ok(());
        }
        self.think().await;
        let is_allowed = self.dice.percent(70);
        if self.dice.percent(25) {
            let words = [self.words("both"), self.words("both")];
            let [first, second] = words;
            let (one, other) = tokio::join!(
                self.decides(at, (&id, &call), is_allowed, first),
                self.decides(at, (&id, &call), !is_allowed, second)
            );
            return one.and(other);
        }
        let words = self.words("a call");
        self.decides(at, (&id, &call), is_allowed, words).await
    }

    async fn decides(
        &self,
        at: &Address,
        (id, call): (&str, &str),
        is_allowed: bool,
        words: String,
    ) -> Result<(), ServerGone> {
        let decision = if is_allowed { "once" } else { "deny" };
        let params = json!({ "decision": decision, "message": words });
        let path = format!("{APPROVALS}/{id}");
        let place = self.stage.decides(Decided {
            call: call.to_owned(),
            is_allowed,
            words,
            fate: AnswerStatus::Unknown,
        });
        match self.stage.client.give(at, &path, &params).await? {
            Ok(_) => self.stage.decided(place, AnswerStatus::Taken(None)),
            Err(refusal) => {
                self.stage.decided(place, AnswerStatus::Refused);
                if !LATE.contains(&refusal.code.as_str()) {
                    self.refused(&path, &refusal);
                }
            }
        }
        Ok(())
    }
}
