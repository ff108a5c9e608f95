//! Books a ticket on the screen of a host: continues where what the person wishes for can be had, and
//! back where it cannot (RL-23).
//!
//! It knows no stages by name. What is asked at one is told by the screen: several things where a
//! list of them is chosen, how many of each where they are counted, one thing where an item can be
//! selected, and else nothing but to go on. It has no memory either: what was tried is read off the
//! calls of the turn.

mod screen;

mod trail;
mod wish;

use std::collections::BTreeMap;
use std::sync::Arc;

use samovar_core::{Message, Part, Role};
use serde_json::{Map, Value, json};

use crate::language::Language;
use crate::results::bounded;
use crate::speaker::spoken;
use crate::turn::{self, Call, Next};
use screen::{Item, Screen};
use trail::Trail;
use wish::{Bound, FEATURES, Relation, Wish};

/// Behind so many calls of a turn nothing else is looked for.
const MAX_SEARCH: usize = 40;
/// Calls of a turn, at most, on a host where nothing leads anywhere.
const MAX_CALLS: usize = 56;
/// Messages of the person that make a wish together, at most: the last.
const MAX_WISHES: usize = 12;
/// Seats that are looked at, at most.
const MAX_ITEMS: usize = 1_000;

/// The next step towards what the last messages of a prompt ask for on a host's screen, and the
/// language to speak; none when there is no screen, or nothing of it is about a booking.
pub(super) fn book(messages: &[Arc<Message>], tools: &[&str]) -> Option<(Language, Next)> {
    let screen = Screen::last(messages)?;
    let (language, wish) = wished(messages)?;
    let asked = messages
        .iter()
        .rposition(|message| message.role == Role::User)?;
    let rows = match wish.wanted().next() {
        Some(_) => screen
            .texts()
            .map(|text| (text, wish::rows_that_are(text)))
            .collect(),
        None => BTreeMap::new(),
    };
    let booking = Booking {
        rows,
        language,
        wish: &wish,
        screen: &screen,
        tools,
        trail: Trail::of(&messages[asked..]),
    };
    Some((language, booking.next()))
}

/// A text without the screen behind it.
pub(super) fn without_screen(text: &str) -> &str {
    screen::split(text).0
}

/// What is wished for by all that was said since the last booking; none when the last words are of
/// something else.
fn wished(messages: &[Arc<Message>]) -> Option<(Language, Wish)> {
    let mut wish = Wish::default();
    let mut last = None;
    let users = messages.iter().filter(|message| message.role == Role::User);
    let mut earlier = users.count();
    for message in messages {
        if message.role == Role::User {
            earlier -= 1;
        }
        if message.role == Role::User && earlier < MAX_WISHES {
            let text = spoken(without_screen(&message.text())).text;
            let (language, said) = Wish::of(&text);
            last = Some((language, said.is_booking));
            wish = wish.then(said);
        }
        let is_booked = |part: &Part| match part {
            Part::Outcome { name, outcome, .. } if name == "next" => {
                Screen::of(&outcome.text).is_some_and(|screen| screen.is_empty())
            }
            Part::Outcome { .. }
            | Part::Text { .. }
            | Part::Reasoning { .. }
            | Part::Call(_)
            | Part::Data { .. }
            | Part::Image { .. } => false,
        };
        let is_last = messages
            .last()
            .is_some_and(|last| Arc::ptr_eq(last, message));
        if message.parts.iter().any(is_booked) && !is_last {
            wish = Wish::default();
        }
    }
    let (language, is_booking) = last?;
    is_booking.then_some((language, wish))
}

/// A booking under way.
struct Booking<'a> {
    language: Language,
    wish: &'a Wish,
    screen: &'a Screen,
    /// The features of all texts on the screen, if any are wanted.
    rows: BTreeMap<&'a str, Vec<usize>>,
    tools: &'a [&'a str],
    trail: Trail<'a>,
}

impl Booking<'_> {
    fn next(&self) -> Next {
        if let Some(stopped) = self.stop() {
            return Next::Say(stopped);
        }
        let begins = self.wish.is_wide() && !self.trail.is_on;
        if begins && self.has("prev") {
            return self.call("looking_back", "", "prev", json!({}));
        }
        let items = self.screen.items();
        if let Some(chosen) = self.screen.selected_list() {
            return self.several(&items, &chosen);
        }
        if items
            .iter()
            .any(|item| self.screen.quantity(item.id).is_some())
        {
            return self.count(&items);
        }
        let can_choose = self.has("select") || self.screen.selected().is_some();
        if can_choose || !self.has("next") {
            return self.one(&items);
        }
        self.confirm()
    }

    /// What ends it before anything else is looked at.
    fn stop(&self) -> Option<String> {
        if let Some(word) = &self.wish.unable {
            return Some(self.say("unable", &[("deed", word)]));
        }
        if self.screen.is_empty() {
            return Some(self.booked());
        }
        let (call, outcome) = self.trail.last?;
        // What cannot be had is passed by; anything else is nothing to try again.
        let is_passed = call.name == "select" || call.name == "filter";
        let code = outcome.text.split([':', '\n']).next().unwrap_or_default();
        let is_lost = matches!(
            code,
            "SESSION_NOT_ACTIVE" | "NO_ACTIVE_SPEC" | "INVALID_MESSAGE"
        );
        if outcome.is_error() && (!is_passed || is_lost) {
            let text = screen::split(&outcome.text).0.trim();
            let result = bounded(text);
            let values = [("tool", call.name.as_str()), ("result", result.as_str())];
            let failed = self.say("failed.failed", &values);
            return Some(format!("{failed}\n{}", self.say("stopped", &[])));
        }
        (self.trail.calls >= MAX_CALLS).then(|| self.say("searched_long", &[]))
    }

    fn booked(&self) -> String {
        let Some([number, total, what]) = self.screen.receipt() else {
            return self.say("nothing_shown", &[]);
        };
        let [number, total, what] = [number, total, what].map(|text| bounded(&text));
        let values = [("number", &*number), ("total", &*total), ("what", &*what)];
        if !self.trail.last_is("next") {
            return self.say("booked_before", &values);
        }
        let booked = self.say("booked", &values);
        let told = what.to_lowercase();
        let unknown = self.wish.unknown.iter();
        let unknown: Vec<_> = unknown
            .filter(|word| !told.contains(&word.to_lowercase()))
            .collect();
        if unknown.is_empty() {
            return booked;
        }
        let words: Vec<_> = unknown.into_iter().map(String::as_str).collect();
        let words = bounded(&words.join(", "));
        format!("{booked}\n{}", self.say("unused", &[("words", &words)]))
    }

    /// One item is to be chosen.
    fn one(&self, items: &[Item<'_>]) -> Next {
        let here = self.trail.here();
        let fitting: Vec<_> = self.fitting(items);
        let selected = self.screen.selected();
        let is_selected = |item: &&&Item<'_>| Some(item.id) == selected;
        if fitting.iter().any(|item| is_selected(&item)) {
            let is_new = here.items.is_empty() && !here.is_left;
            if self.trail.last_is("select") || (is_new && self.screen.is_chosen_by_person()) {
                return self.go_on();
            }
            // What the person chose is not exchanged for something else that fits.
            if self.screen.is_chosen_by_person() {
                return self.go_back();
            }
        }
        let is_tried = |item: &&&Item<'_>| {
            let is_left = here.is_left && is_selected(item);
            is_left || here.items.contains(&item.id) || here.failed.contains(&item.id)
        };
        let mut new = fitting.iter().filter(|item| !is_tried(item));
        let is_last = self.wish.is_latest && fitting.iter().all(|item| time_of(item).is_some());
        let best = if is_last { new.next_back() } else { new.next() };
        let Some(item) = best else {
            return self.go_back();
        };
        if let Some(filter) = self.filter(items, item) {
            return filter;
        }
        if is_selected(&item) {
            return self.go_on();
        }
        self.call("choosing", item.label, "select", json!({"itemId": item.id}))
    }

    /// The items that can be had and are what is wished for, the earliest first.
    fn fitting<'i>(&self, items: &'i [Item<'i>]) -> Vec<&'i Item<'i>> {
        let named = items.iter().any(|item| self.wish.names(item.label));
        let mut fitting: Vec<_> = items
            .iter()
            .filter(|item| !item.is_disabled && self.is_wished(item))
            .filter(|item| !named || self.wish.names(item.label))
            .collect();
        fitting.sort_by_key(|item| time_of(item));
        fitting
    }

    fn is_wished(&self, item: &Item<'_>) -> bool {
        let time = time_of(item);
        let in_time = |bound: &Bound| time.is_none_or(|time| bound.lets(time));
        let is_such = |(row, feature): (usize, &wish::Feature)| {
            let texts = item.fields().filter_map(|(_, value)| value.as_str());
            !self.shows(feature.class)
                || texts.flat_map(|text| self.rows(text)).any(|of| *of == row)
        };
        self.wish.times.iter().all(in_time) && self.wish.wanted().all(is_such)
    }

    /// Whether items are of a class here, also those that a filter hides.
    fn shows(&self, class: &str) -> bool {
        let mut rows = self.rows.values().flatten();
        rows.any(|row| FEATURES[*row].class == class)
    }

    fn rows(&self, text: &str) -> &[usize] {
        self.rows.get(text).map_or(&[], Vec::as_slice)
    }

    /// Shows the person only what comes into question, where the host can.
    fn filter(&self, items: &[Item<'_>], item: &Item<'_>) -> Option<Next> {
        if self.trail.here().is_filtered || !self.has("filter") {
            return None;
        }
        let filter = |field: &str, operator: &str, value: &str| {
            let params = json!({"field": field, "operator": operator, "value": value});
            let shown = bounded(value);
            Some(self.call("showing", &shown, "filter", params))
        };
        for (name, value) in item.fields() {
            let Some(value) = value.as_str() else {
                continue;
            };
            if let (Some(_), Some(bound)) = (wish::minutes_of(value), self.wish.times.first()) {
                let at = format!("{:02}:{:02}", bound.minutes / 60, bound.minutes % 60);
                return filter(name, bound.relation.operator(), &at);
            }
            let rows = self.rows(value);
            let is_wanted = self.wish.wanted().any(|(row, _)| rows.contains(&row));
            let others = items.iter().any(|other| other.field(name) != value);
            if is_wanted && others {
                return filter(name, "eq", value);
            }
        }
        None
    }

    /// Several items are to be chosen: seats.
    fn several(&self, items: &[Item<'_>], chosen: &[&str]) -> Next {
        let said = self
            .wish
            .seats()
            .and_then(|count| usize::try_from(count).ok());
        if said.is_none() && !chosen.is_empty() {
            return self.go_on();
        }
        let count = said.unwrap_or(1);
        let failed = &self.trail.here().failed;
        let mut free = self.fitting(items);
        free.retain(|item| !failed.contains(&item.id));
        free.truncate(MAX_ITEMS);
        let Some(wanted) = self.places(&free, chosen, count) else {
            return self.go_back();
        };
        let missing = wanted.iter().find(|item| !chosen.contains(&item.id));
        let surplus = || {
            let id = chosen
                .iter()
                .find(|id| wanted.iter().all(|item| item.id != **id))?;
            items.iter().find(|item| item.id == *id)
        };
        match missing.copied().or_else(surplus) {
            Some(item) => self.call("choosing", item.label, "select", json!({"itemId": item.id})),
            None => self.go_on(),
        }
    }

    /// So many places, side by side where that can be: those of which most are chosen already.
    fn places<'i>(
        &self,
        free: &[&'i Item<'i>],
        chosen: &[&str],
        count: usize,
    ) -> Option<Vec<&'i Item<'i>>> {
        let is_chosen = |item: &&Item<'_>| chosen.contains(&item.id);
        let mut sorted: Vec<_> = free
            .iter()
            .filter_map(|item| Some((place(item)?, *item)))
            .collect();
        sorted.sort_by_key(|(place, _)| *place);
        let is_run = |run: &[((&str, i64), &Item<'_>)]| {
            let mut pairs = run.windows(2);
            pairs.all(|pair| pair[0].0.0 == pair[1].0.0 && pair[0].0.1 + 1 == pair[1].0.1)
        };
        let runs = sorted.windows(count).filter(|run| is_run(run));
        let runs = runs.map(|run| run.iter().map(|(_, item)| *item).collect::<Vec<_>>());
        // Of equal ones the first, so the search is from the end.
        let runs: Vec<_> = runs.collect();
        let best = runs
            .into_iter()
            .rev()
            .max_by_key(|run| run.iter().filter(|item| is_chosen(item)).count());
        if best.is_some() || self.wish.is_together && count > 1 {
            return best;
        }
        let mut any = free.to_vec();
        any.sort_by_key(|item| !is_chosen(item));
        (any.len() >= count).then(|| any[..count].to_vec())
    }

    /// How many of each is to be said: tickets.
    fn count(&self, items: &[Item<'_>]) -> Next {
        let of = self.screen.seats().or(self.wish.seats()).unwrap_or(1);
        for (at, item) in items.iter().enumerate() {
            let wanted = u64::from(self.wish.tickets(item.label, at == 0, of));
            if self.screen.quantity(item.id) != Some(wanted) {
                let params = json!({"typeId": item.id, "quantity": wanted});
                let what = format!("{wanted} × {}", item.label);
                return self.call("choosing", &what, "setQuantity", params);
            }
        }
        self.go_on()
    }

    /// Nothing is left to be chosen. What was asked for and never came into question is told before
    /// anything is booked without it.
    fn confirm(&self) -> Next {
        let seen: Vec<_> = self
            .trail
            .texts
            .iter()
            .filter_map(|text| Screen::of(text))
            .collect();
        let is_seen = |class: &str| {
            let mut texts = seen.iter().flat_map(Screen::texts);
            texts.any(|text| {
                wish::rows_that_are(text)
                    .iter()
                    .any(|row| FEATURES[*row].class == class)
            })
        };
        let missing = self
            .wish
            .wanted()
            .find(|(_, feature)| self.trail.is_on && !is_seen(feature.class));
        if let Some((_, feature)) = missing {
            return Next::Say(self.say("not_asked", &[("words", feature.word)]));
        }
        self.go_on()
    }

    fn go_on(&self) -> Next {
        self.call("going_on", "", "next", json!({}))
    }

    /// Nothing is left to be tried here.
    fn go_back(&self) -> Next {
        if self.trail.depth == 0 || !self.has("prev") {
            return Next::Say(self.say("nothing_fits", &[]));
        }
        if self.trail.calls >= MAX_SEARCH {
            return Next::Say(self.say("searched_long", &[]));
        }
        self.call("looking_back", "", "prev", json!({}))
    }

    fn call(&self, key: &str, what: &str, tool: &'static str, args: Value) -> Next {
        if !self.has(tool) {
            return Next::Say(self.say("no_tool", &[("tool", tool)]));
        }
        let what = bounded(what);
        let said = self.say(key, &[("what", &what)]);
        let args = match args {
            Value::Object(args) => args,
            _ => Map::new(),
        };
        Next::Ask(
            said,
            vec![Call {
                tool: tool.to_owned(),
                args,
            }],
        )
    }

    fn has(&self, tool: &str) -> bool {
        self.tools.contains(&tool)
    }

    fn say(&self, key: &str, values: &[(&str, &str)]) -> String {
        turn::say(self.language, key, values)
    }
}

impl Bound {
    fn lets(self, minutes: u32) -> bool {
        match self.relation {
            Relation::After => minutes > self.minutes,
            Relation::From => minutes >= self.minutes,
            Relation::Before => minutes < self.minutes,
            Relation::Until => minutes <= self.minutes,
            Relation::At => minutes == self.minutes,
        }
    }
}

impl Relation {
    fn operator(self) -> &'static str {
        match self {
            Self::After => "gt",
            Self::From => "gte",
            Self::Before => "lt",
            Self::Until => "lte",
            Self::At => "eq",
        }
    }
}

fn time_of(item: &Item<'_>) -> Option<u32> {
    let mut texts = item.fields().filter_map(|(_, value)| value.as_str());
    texts.find_map(wish::minutes_of)
}

/// The row of a seat, and its number there.
fn place<'i>(item: &Item<'i>) -> Option<(&'i str, i64)> {
    let fields = item.whole()?;
    Some((fields["row"].as_str()?, fields["number"].as_i64()?))
}

#[cfg(test)]
mod tests;
