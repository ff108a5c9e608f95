//! Tickets: what a browser opens a stream or a WebSocket with, for which it can set no header (TL-11).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_wire::agent::NoParams;
use samovar_wire::api::{BASE_PATH, CreatedTicket};
use tokio::time::Instant;

use crate::endpoint::{self, Verb};
use crate::token::{self, TokenHash};
use crate::tokens::Scope;

type Call = endpoint::Call<Arc<Tickets>>;
type Endpoint = endpoint::Endpoint<Arc<Tickets>>;

/// How long a ticket counts.
const LIFE: Duration = Duration::from_secs(30);

/// Tickets that count at once, for one token at most; there is a bound on tokens, too.
const MAX_OF_TOKEN: usize = 64;

pub(crate) fn routes() -> Vec<Endpoint> {
    vec![Endpoint::answering(
        &[Verb::Post],
        Scope::Any,
        format!("{BASE_PATH}/tickets"),
        "Creates a ticket, which opens one stream or WebSocket instead of the token.",
        create,
    )]
}

async fn create(call: Call, _params: NoParams) -> Result<CreatedTicket, Error> {
    let token = call.by.token.clone().ok_or_else(|| {
        let why = locale::request::no_token();
        Error::new(Code::Unauthorized, why)
    })?;
    let ticket = call.state.create(token)?;
    Ok(CreatedTicket {
        ticket,
        expires_in_ms: u64::try_from(LIFE.as_millis()).unwrap_or(u64::MAX),
    })
}

/// The tickets that count, the oldest first.
#[derive(Default)]
pub(crate) struct Tickets(Mutex<VecDeque<Ticket>>);

struct Ticket {
    sha256: TokenHash,
    /// For which token it stands. What that may do is asked when the ticket is used.
    token: TokenHash,
    until: Instant,
}

impl Tickets {
    /// Makes a ticket that stands for a token once.
    ///
    /// # Errors
    /// [`Code::Busy`] when too many of this token wait to be used.
    fn create(&self, token: TokenHash) -> Result<String, Error> {
        let ticket = token::fresh().map_err(|error| {
            let why = locale::ticket::not_made(error);
            Error::new(Code::Internal, why)
        })?;
        let now = Instant::now();
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop_late(&mut tickets, now);
        let of_token = tickets.iter().filter(|other| other.token.equals(&token));
        if of_token.count() >= MAX_OF_TOKEN {
            let why = locale::ticket::too_many(MAX_OF_TOKEN as u64);
            return Err(Error::new(Code::Busy, why));
        }
        tickets.push_back(Ticket {
            sha256: TokenHash::of(&ticket),
            token,
            until: now + LIFE,
        });
        Ok(ticket.expose().to_owned())
    }

    /// Uses a ticket up: the token that it stands for, once. Every one is compared, so that the time
    /// says nothing.
    pub(crate) fn take(&self, ticket: &str) -> Option<TokenHash> {
        let given = TokenHash::of_bytes(ticket.as_bytes());
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop_late(&mut tickets, Instant::now());
        let mut found = None;
        for (at, ticket) in tickets.iter().enumerate() {
            if ticket.sha256.equals(&given) {
                found = Some(at);
            }
        }
        tickets.remove(found?).map(|ticket| ticket.token)
    }
}

fn drop_late(tickets: &mut VecDeque<Ticket>, now: Instant) {
    while tickets.front().is_some_and(|ticket| ticket.until <= now) {
        tickets.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> TokenHash {
        TokenHash::of_bytes(text.as_bytes())
    }

    // proves TL-11
    #[tokio::test(start_paused = true)]
    async fn a_ticket_counts_once_and_for_thirty_seconds() {
        let tickets = Tickets::default();
        let (first, second) = (
            tickets.create(hash("a")).unwrap(),
            tickets.create(hash("b")).unwrap(),
        );
        assert_eq!(first.len(), 64);
        assert!(tickets.take("nothing").is_none());
        assert!(tickets.take(&first).unwrap().equals(&hash("a")));
        assert!(tickets.take(&first).is_none());

        let last = Duration::from_millis(1);
        tokio::time::advance(LIFE.saturating_sub(last)).await;
        let third = tickets.create(hash("b")).unwrap();
        tokio::time::advance(last).await;
        assert!(tickets.take(&second).is_none());
        assert!(tickets.take(&third).unwrap().equals(&hash("b")));
    }

    // proves TL-11
    #[tokio::test(start_paused = true)]
    async fn one_token_has_so_many_tickets_and_takes_nobody_elses() {
        let tickets = Tickets::default();
        for _ in 0..MAX_OF_TOKEN {
            tickets.create(hash("a")).unwrap();
        }
        let refused = tickets.create(hash("a")).unwrap_err();
        assert_eq!(refused.code, Code::Busy);
        tickets.create(hash("b")).unwrap();
        tokio::time::advance(LIFE).await;
        tickets.create(hash("a")).unwrap();
    }

    // proves TL-11
    #[tokio::test]
    async fn of_all_who_use_a_ticket_at_once_one_is_let_in() {
        let tickets = Tickets::default();
        for _ in 0..100 {
            let ticket = tickets.create(hash("a")).unwrap();
            let let_in = std::thread::scope(|scope| {
                let users = [(); 4].map(|()| scope.spawn(|| tickets.take(&ticket).is_some()));
                users.map(|user| user.join().unwrap())
            });
            let let_in = let_in.into_iter().filter(|is_in| *is_in).count();
            assert_eq!(let_in, 1);
        }
    }
}
