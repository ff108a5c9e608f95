//! A host with any stages and any catalogue, and a loop that runs the calls that are asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use samovar_core::relay::SCREEN;
use samovar_core::{Message, Outcome, Role};
use serde_json::{Value, json};

use crate::tests::world::{Tools, run, said, user};

/// What is to be done at a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    One,
    Several,
    Count,
    Confirm,
}

#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) items: Vec<Value>,
}

/// A host.
#[derive(Clone, Debug, Default)]
pub(super) struct Cinema {
    pub(super) stages: Vec<Stage>,
    pub(super) at: usize,
    pub(super) chosen: BTreeMap<&'static str, Vec<String>>,
    quantities: BTreeMap<String, u64>,
    filter: Option<(String, String, Value)>,
    pub(super) history: Vec<Value>,
    /// Tools that it does not have.
    pub(super) hidden: Vec<&'static str>,
    /// What cannot be had when all of these are chosen.
    pub(super) gone: Vec<(Vec<&'static str>, String)>,
    /// What somebody else takes at the moment at which it is selected.
    pub(super) snatched: Vec<String>,
    pub(super) booked: Option<BTreeMap<&'static str, Vec<String>>>,
    pub(super) calls: Vec<(String, Value)>,
    messages: Vec<Arc<Message>>,
}

/// The seats of a hall with three rows of so many.
fn seats(in_row: u64) -> Vec<Value> {
    let rows = [("A", "front"), ("B", "middle"), ("C", "back")];
    let seat = |row: &str, zone: &str, number: u64| {
        let id = format!("{row}{number}");
        json!({"id": id, "seat": id, "row": row, "number": number, "zone": zone})
    };
    let row = |(row, zone)| (1..=in_row).map(move |number| seat(row, zone, number));
    rows.into_iter().flat_map(row).collect()
}

const CATALOGUE: &str = "\
movie: m1 title=Stone_Rain genre=Drama; m2 title=Night_Bus genre=Horror; m3 title=Left_Shoe genre=Comedy; m4 title=Wet_Paint genre=Comedy; m5 title=Tin_Moon genre=Science_fiction
theater: t1 name=Center_Light; t2 name=Mill
date: 2026-12-11 date=2026-12-11 weekday=Friday; 2026-12-12 date=2026-12-12 weekday=Saturday
time: x4 time=21:15; x1 time=11:00; x2 time=16:30; x3 time=18:30
seat: three rows
ticket: adult name=Adult; child name=Child; senior name=Senior
confirm: total text=20.00_EUR";

fn stages() -> Vec<Stage> {
    let item = |row: &str| {
        let mut words = row.split_whitespace();
        let mut item = json!({"id": words.next().unwrap()});
        for (name, value) in words.filter_map(|word| word.split_once('=')) {
            item[name] = value.replace('_', " ").into();
        }
        item
    };
    let stage = |row: &'static str| {
        let (name, rows) = row.split_once(": ").unwrap();
        let kind = match name {
            "seat" => Kind::Several,
            "ticket" => Kind::Count,
            "confirm" => Kind::Confirm,
            _ => Kind::One,
        };
        let items = if kind == Kind::Several {
            seats(6)
        } else {
            rows.split(';').map(item).collect()
        };
        Stage { name, kind, items }
    };
    CATALOGUE.lines().map(stage).collect()
}

impl Tools for Cinema {
    fn tools(&self) -> Vec<&'static str> {
        let stage = &self.stages[self.at];
        let chosen = self.chosen.get(stage.name).map_or(0, Vec::len);
        let seats = self.chosen.get("seat").map_or(0, Vec::len) as u64;
        let is_complete = match stage.kind {
            Kind::One | Kind::Several => chosen > 0,
            Kind::Count => self.quantities.values().sum::<u64>() == seats,
            Kind::Confirm => true,
        };
        let is_free = self.visible().iter().any(|item| item["isDisabled"] != true);
        let is_chosen = matches!(stage.kind, Kind::One | Kind::Several);
        let offers = [
            ("filter", true),
            ("select", is_chosen && is_free),
            ("setQuantity", stage.kind == Kind::Count),
            ("next", is_complete),
            ("prev", self.at > 0),
        ];
        let offers = offers
            .into_iter()
            .filter(|offer| offer.1 && self.booked.is_none());
        let tools = offers.map(|(tool, _)| tool);
        tools.filter(|tool| !self.hidden.contains(tool)).collect()
    }

    fn answer(&mut self, _: usize, tool: &str, args: &Value) -> Outcome {
        let came = self.does(tool, args, "agent");
        let screen = self.screen();
        match came {
            Ok(()) => Outcome::done(format!("ok\n\n{screen}")),
            Err(why) => Outcome::failed(format!("TOOL_EXECUTION_FAILED: {why}\n\n{screen}")),
        }
    }
}

impl Cinema {
    /// Five movies, two theaters, two days, four times, eighteen seats, three kinds of ticket.
    pub(super) fn new() -> Self {
        Self {
            stages: stages(),
            ..Self::default()
        }
    }

    /// A host as a row of the table describes it.
    pub(super) fn like(host: &'static str) -> Self {
        let mut cinema = Self::new();
        for (key, values) in host
            .split_whitespace()
            .filter_map(|word| word.split_once('='))
        {
            let values: Vec<_> = values.split(',').collect();
            match key {
                "order" => {
                    let place = |stage: &Stage| values.iter().position(|name| *name == stage.name);
                    cinema.stages.retain(|stage| place(stage).is_some());
                    cinema.stages.sort_by_key(place);
                }
                "without" => cinema.hidden = values,
                "snatched" => cinema.snatched = values.into_iter().map(str::to_owned).collect(),
                _ => {
                    for (when, id) in values.iter().filter_map(|value| value.split_once(':')) {
                        let when: Vec<_> = when.split('+').filter(|id| !id.is_empty()).collect();
                        cinema = cinema.without(&when, id);
                    }
                }
            }
        }
        cinema
    }

    /// Something cannot be had when all of these are chosen.
    pub(super) fn without(mut self, when: &[&'static str], id: &str) -> Self {
        self.gone.push((when.to_vec(), id.to_owned()));
        self
    }

    /// Says something to the demo model, runs the turn to its end, and hears its last words.
    pub(super) fn says(&mut self, words: &str) -> String {
        let mut messages = std::mem::take(&mut self.messages);
        messages.push(user(&format!("{words}\n\n{}", self.screen())));
        let mut turn = run(self, messages);
        turn.messages.push(said(Role::Assistant, turn.last()));
        let answer = turn.last().to_owned();
        (self.messages, self.calls) = (turn.messages, turn.calls);
        answer
    }

    /// What somebody does, an agent or the user.
    pub(super) fn does(&mut self, tool: &str, args: &Value, who: &str) -> Result<(), String> {
        let stage = self.stages[self.at].clone();
        match tool {
            "filter" => {
                let text = |key: &str| args[key].as_str().unwrap().to_owned();
                self.filter = Some((text("field"), text("operator"), args["value"].clone()));
            }
            "select" => {
                let id = args["itemId"].as_str().unwrap().to_owned();
                let visible = self.visible();
                let item = visible.iter().find(|item| item["id"] == *id);
                let is_free = item.is_some_and(|item| item["isDisabled"] != true);
                if self.snatched.contains(&id) || !is_free {
                    self.gone.push((Vec::new(), id));
                    return Err("somebody was faster".to_owned());
                }
                let chosen = self.chosen.entry(stage.name).or_default();
                match chosen.iter().position(|known| *known == id) {
                    Some(at) if stage.kind == Kind::Several => drop(chosen.remove(at)),
                    _ if stage.kind == Kind::Several => chosen.push(id),
                    _ => *chosen = vec![id],
                }
                let entry = json!({"type": who, "action": "select", "stage": stage.name});
                self.history.push(entry);
                let later: Vec<_> = self.stages[self.at + 1..]
                    .iter()
                    .map(|stage| stage.name)
                    .collect();
                self.chosen.retain(|name, _| !later.contains(name));
                if later.contains(&"ticket") {
                    self.quantities.clear();
                }
            }
            "setQuantity" => {
                let of = args["typeId"].as_str().unwrap().to_owned();
                self.quantities
                    .insert(of, args["quantity"].as_u64().unwrap());
            }
            "next" if stage.kind == Kind::Confirm => {
                let spec = json!({
                    "meta": {"bookingNumber": "B-77", "total": "20.00 EUR"},
                    "state": {"booking": self.booking()},
                });
                self.history.push(json!({"type": "system", "spec": spec}));
                let mut booked = self.chosen.clone();
                let kinds = self.quantities.iter().filter(|(_, count)| **count > 0);
                let kinds = kinds.map(|(kind, count)| format!("{count} {kind}"));
                booked.insert("ticket", kinds.collect());
                self.booked = Some(booked);
            }
            "next" | "prev" => {
                let is_next = tool == "next";
                self.at = if is_next { self.at + 1 } else { self.at - 1 };
                self.filter = None;
            }
            _ => panic!("no tool {tool}"),
        }
        Ok(())
    }

    fn visible(&self) -> Vec<Value> {
        let mut visible = self.stages[self.at].items.clone();
        if let Some((field, operator, value)) = &self.filter {
            visible.retain(|item| {
                let order = item[field]
                    .as_str()
                    .zip(value.as_str())
                    .map(|(one, other)| one.cmp(other));
                order.is_some_and(|order| match operator.as_str() {
                    "eq" => order.is_eq(),
                    "gt" => order.is_gt(),
                    "gte" => order.is_ge(),
                    "lt" => order.is_lt(),
                    "lte" => order.is_le(),
                    _ => panic!("no operator {operator}"),
                })
            });
        }
        let is_chosen =
            |id: &&'static str| self.chosen.values().flatten().any(|chosen| chosen == id);
        for item in &mut visible {
            let gone = self.gone.iter().filter(|(_, id)| item["id"] == **id);
            if gone.into_iter().any(|(when, _)| when.iter().all(is_chosen)) {
                item["isDisabled"] = true.into();
            }
        }
        visible
    }

    fn booking(&self) -> Value {
        let field = |name: &&str| json!(self.chosen.get(*name).cloned().unwrap_or_default());
        let fields = self.stages.iter().map(|stage| stage.name);
        let named: serde_json::Map<_, _> =
            fields.map(|name| (name.to_owned(), field(&name))).collect();
        let mut booking = Value::Object(named);
        booking["seats"] = booking["seat"].take();
        booking
    }

    pub(super) fn screen(&self) -> String {
        if self.booked.is_some() {
            return format!(
                "{SCREEN}{}",
                json!({"uiSpec": null, "messageHistory": self.history})
            );
        }
        let stage = &self.stages[self.at];
        let label = |item: &Value| {
            let mut fields = item
                .as_object()
                .unwrap()
                .iter()
                .filter(|field| field.0 != "id");
            let text = fields.find_map(|(_, value)| value.as_str()).unwrap();
            let mut label = json!({"id": item["id"], "value": text});
            if item["isDisabled"] == true {
                label["isDisabled"] = true.into();
            }
            label
        };
        let visible: Vec<_> = self.visible().iter().map(label).collect();
        let chosen = self.chosen.get(stage.name).cloned().unwrap_or_default();
        let mut told = json!({"booking": self.booking()});
        match stage.kind {
            Kind::One => {
                if let Some(id) = chosen.first() {
                    told["selected"] = id.as_str().into();
                }
            }
            Kind::Several => told["selectedList"] = chosen.into(),
            Kind::Count => told["quantities"] = json!(self.quantities),
            Kind::Confirm => {}
        }
        let spec = json!({
            "stage": stage.name, "title": "?", "visibleItems": visible, "state": told,
            "items": stage.items, "modification": {},
        });
        let screen = json!({"uiSpec": spec, "messageHistory": self.history});
        format!("{SCREEN}{screen}")
    }

    /// What was booked, in short.
    pub(super) fn receipt(&self) -> String {
        let Some(booked) = &self.booked else {
            return "nothing".to_owned();
        };
        let names = ["movie", "theater", "date", "time", "seat", "ticket"];
        let each = names.map(|name| booked.get(name).cloned().unwrap_or_default().join("+"));
        each.join(" ")
    }
}
