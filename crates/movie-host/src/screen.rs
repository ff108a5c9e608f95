//! What the person sees, and what a call does to it (RL-18, RL-19).

use samovar_core::relay::RelayCode;
use samovar_locale as locale;
use serde_json::{Map, Value, json};

use crate::catalogue::{TICKET_TYPES, Week, scatter};
use crate::choices::Choices;
use crate::history::{Actor, Entry};
use crate::item::Item;
use crate::modification::{Filter, Modification, Operator, compare};
use crate::schema::shown;
use crate::stage::Stage;
use crate::tools::{Deed, Tool};

/// Why a call is refused, and with which code.
pub(crate) type Refusal = (RelayCode, String);

/// A screen, until its booking is made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Screen {
    stage: Stage,
    choices: Choices,
    modification: Modification,
    /// The number of the booking, when it is made.
    booking: Option<String>,
}

impl Screen {
    /// The first stage, with nothing chosen.
    pub(crate) fn new(week: Week) -> Self {
        Self {
            stage: Stage::Movie,
            choices: Choices::of(week),
            modification: Modification::default(),
            booking: None,
        }
    }

    /// Where the person is.
    pub(crate) fn stage(&self) -> Stage {
        self.stage
    }

    /// Does what a call asks for, and tells what of it belongs into the history.
    ///
    /// # Errors
    /// A code and a sentence; nothing has changed then.
    pub(crate) fn call(
        &mut self,
        name: &str,
        params: &Map<String, Value>,
        actor: Actor,
        study: &str,
    ) -> Result<Vec<Entry>, Refusal> {
        if self.booking.is_some() && Tool::from_name(name) != Some(Tool::PostMessage) {
            let why = "the booking is made and the screen is empty; start a new study session";
            return Err((RelayCode::NoActiveSpec, why.to_owned()));
        }
        let tool = self.offered(name)?;
        let deed = tool.read(self.stage, params);
        let deed = deed.map_err(|why| (RelayCode::InvalidParams, why))?;
        self.apply(deed, actor, study)
    }

    /// The tools that can be called now (RL-19).
    pub(crate) fn tools(&self) -> Vec<Tool> {
        if self.booking.is_some() {
            return vec![Tool::PostMessage];
        }
        let mut tools = Tool::ALL.to_vec();
        tools.retain(|tool| self.missing(*tool).is_none());
        tools
    }

    /// The screen; null when the booking is made.
    pub(crate) fn to_json(&self) -> Value {
        if self.booking.is_some() {
            return Value::Null;
        }
        let items = self.items();
        let visible = self.modification.visible(&items);
        let visible: Vec<_> = visible
            .into_iter()
            .map(|item| item.to_visible(self.words(item)))
            .collect();
        let all: Vec<_> = items.iter().map(Item::to_json).collect();
        let mut json = json!({"stage": self.stage.as_str(), "title": self.stage.title()});
        if let Some(about) = self.about() {
            json["description"] = about.into();
        }
        json["visibleItems"] = visible.into();
        json["state"] = self.state();
        json["items"] = all.into();
        json["modification"] = self.modification.to_json();
        let (field, component) = (self.stage.value_field(), self.stage.component());
        json["display"] = json!({"valueField": field, "component": component});
        if self.stage >= Stage::Ticket {
            json["meta"] = json!({
                "seatCount": self.choices.seat_ids().len(),
                "ticketCount": self.choices.ticket_count(),
                "total": self.choices.total().say(),
            });
        }
        json
    }

    /// What the history says of a screen that is shown: its head, or the booking that was made.
    pub(crate) fn entry(&self) -> Entry {
        let stage = self.stage.as_str();
        let mut spec = json!({"stage": stage, "title": self.stage.title()});
        if let Some(number) = &self.booking {
            let total = self.choices.total().say();
            spec["title"] = locale::movie::booked().into();
            spec["description"] = locale::movie::receipt(number, &total).into();
            spec["state"] = json!({"booking": self.choices.to_json()});
            spec["meta"] = json!({"bookingNumber": number, "total": total});
        } else if let Some(about) = self.about() {
            spec["description"] = about.into();
        }
        Entry::Shown(spec)
    }

    fn items(&self) -> Vec<Item> {
        self.choices.items(self.stage)
    }

    fn words(&self, item: &Item) -> String {
        let words = self.modification.words(&item.id).map(str::to_owned);
        words.unwrap_or_else(|| item.label(self.stage.value_field()))
    }

    fn about(&self) -> Option<String> {
        match self.stage {
            Stage::Movie | Stage::Theater | Stage::Date | Stage::Time => None,
            Stage::Seat => Some(locale::movie::about_seats().to_owned()),
            Stage::Ticket => {
                let seats = u64::try_from(self.choices.seat_ids().len()).unwrap_or(u64::MAX);
                Some(locale::movie::about_tickets(seats))
            }
            Stage::Confirm => Some(locale::movie::about_booking().to_owned()),
        }
    }

    fn state(&self) -> Value {
        let mut state = Map::new();
        if let Some(selected) = self.choices.selected(self.stage) {
            state.insert("selected".to_owned(), selected.into());
        }
        if self.stage == Stage::Seat {
            state.insert("selectedList".to_owned(), self.choices.seat_ids().into());
        }
        let highlighted = self.modification.highlighted();
        if !highlighted.is_empty() {
            state.insert("highlighted".to_owned(), highlighted.to_vec().into());
        }
        if self.stage == Stage::Ticket {
            state.insert("quantities".to_owned(), self.choices.quantities());
        }
        state.insert("booking".to_owned(), self.choices.to_json());
        state.into()
    }

    /// What is missing for a tool to be there now; none when it is there.
    fn missing(&self, tool: Tool) -> Option<&'static str> {
        match tool {
            Tool::Filter
            | Tool::Sort
            | Tool::Highlight
            | Tool::Augment
            | Tool::ClearModification
            | Tool::PostMessage => None,
            Tool::Select if self.stage > Stage::Seat => Some("there is nothing to select"),
            Tool::Select => {
                let items = self.items();
                let can = |item: &Item| item.disabled.is_none() && self.modification.lets(item);
                let is_there = items.iter().any(can);
                (!is_there).then_some("no item is visible that is not disabled")
            }
            Tool::SetQuantity => {
                (self.stage != Stage::Ticket).then_some("tickets are counted at stage ticket")
            }
            Tool::Prev => (self.stage == Stage::Movie).then_some("this is the first stage"),
            Tool::Next if self.choices.is_complete(self.stage) => None,
            Tool::Next => Some(match self.stage {
                Stage::Seat => "no seat is chosen yet",
                Stage::Ticket => "there are not as many tickets as seats",
                Stage::Movie | Stage::Theater | Stage::Date | Stage::Time | Stage::Confirm => {
                    "no item is chosen yet"
                }
            }),
        }
    }

    fn offered(&self, name: &str) -> Result<Tool, Refusal> {
        let tool = Tool::from_name(name);
        let missing = tool.map_or(Some("there is no such tool"), |tool| self.missing(tool));
        let (Some(tool), None) = (tool, missing) else {
            let names: Vec<_> = self.tools().into_iter().map(Tool::as_str).collect();
            let (name, stage) = (shown(&Value::from(name)), self.stage.as_str());
            let why = missing.unwrap_or_default();
            let names = names.join(", ");
            let why = format!("unknown tool {name} at stage {stage}: {why}; there are: {names}");
            return Err((RelayCode::UnknownTool, why));
        };
        Ok(tool)
    }

    fn apply(&mut self, deed: Deed, actor: Actor, study: &str) -> Result<Vec<Entry>, Refusal> {
        let before = self.choices.clone();
        match deed {
            Deed::Filter(filter) => {
                self.check_filter(&filter)?;
                self.modification.filter(filter);
            }
            Deed::Sort(field, order) => self.modification.sort(field, order),
            Deed::Highlight(highlight) => {
                self.check_items(highlight.item_ids.iter())?;
                self.modification.highlight(highlight);
            }
            Deed::Augment(words) => {
                self.check_items(words.iter().map(|(item_id, _)| item_id))?;
                self.modification.augment(words);
            }
            Deed::Clear(of) => self.modification.clear(of),
            Deed::Select(item_id) => {
                let label = self.selectable(&item_id)?;
                self.choices.choose(self.stage, &item_id);
                let label = if self.stage == Stage::Seat {
                    self.choices.seat_ids().join(", ")
                } else {
                    label
                };
                return Ok(self.did(&before, actor, "select", label));
            }
            Deed::SetQuantity(of, count) => {
                self.choices.set_quantity(of, count);
                let name = TICKET_TYPES.get(of).map_or("", |of| of.name);
                return Ok(self.did(&before, actor, "input", format!("{count} × {name}")));
            }
            Deed::Next => return Ok(self.go_on(study)),
            Deed::Prev => return Ok(self.go_back(actor)),
            Deed::PostMessage(text) => return Ok(vec![Entry::Said { actor, text }]),
        }
        Ok(Vec::new())
    }

    /// What was done, if it has changed anything.
    fn did(
        &self,
        before: &Choices,
        actor: Actor,
        action: &'static str,
        label: String,
    ) -> Vec<Entry> {
        if self.choices == *before {
            return Vec::new();
        }
        vec![Entry::Did {
            actor,
            action,
            label,
        }]
    }

    fn go_on(&mut self, study: &str) -> Vec<Entry> {
        match self.stage.following() {
            Some(stage) => {
                self.stage = stage;
                self.modification = Modification::default();
            }
            None => self.booking = Some(self.booking_number(study)),
        }
        vec![self.entry()]
    }

    fn go_back(&mut self, actor: Actor) -> Vec<Entry> {
        if let Some(stage) = self.stage.preceding() {
            self.stage = stage;
            self.modification = Modification::default();
        }
        let back = Entry::Did {
            actor,
            action: "back",
            label: self.stage.as_str().to_owned(),
        };
        vec![back, self.entry()]
    }

    /// The same booking of the same study has the same number, in a replay too.
    fn booking_number(&self, study: &str) -> String {
        let booking = format!("{study} {}", self.choices.to_json());
        let number = booking
            .bytes()
            .fold(0, |sum, byte| scatter(sum ^ u32::from(byte)));
        format!("B-{number:08X}")
    }

    fn check_filter(&self, filter: &Filter) -> Result<(), Refusal> {
        let items = self.items();
        let found = items.iter().find_map(|item| item.field(filter.field));
        let Some(found) = found else {
            return Ok(());
        };
        let fits = |value: &Value| compare(found, value).is_some();
        let fits = match (filter.operator, &filter.value) {
            (Operator::In, Value::Array(values)) => values.iter().all(fits),
            (Operator::In, _) | (_, Value::Array(_)) => false,
            (Operator::Contains, value) => found.is_string() && fits(value),
            (_, value) => fits(value),
        };
        if fits {
            return Ok(());
        }
        let kind = if found.is_string() { "text" } else { "numbers" };
        let (field, operator, value) =
            (filter.field, filter.operator.as_str(), shown(&filter.value));
        let why = format!(
            "{field} is {kind}, which cannot be compared by {operator} with {value}; in wants a list, \
             contains wants text on both sides, and the others want one value of the field's kind"
        );
        Err((RelayCode::InvalidParams, why))
    }

    fn check_items<'a>(&self, mut ids: impl Iterator<Item = &'a String>) -> Result<(), Refusal> {
        let items = self.items();
        let unknown = ids.find(|id| items.iter().all(|item| item.id != **id));
        unknown.map_or(Ok(()), |id| Err(self.unknown_item(id)))
    }

    /// The label of an item that can be selected.
    fn selectable(&self, item_id: &str) -> Result<String, Refusal> {
        let items = self.items();
        let Some(item) = items.iter().find(|item| item.id == item_id) else {
            return Err(self.unknown_item(item_id));
        };
        let why = if let Some(why) = item.disabled {
            format!("{item_id:?} cannot be selected: {why}; select one that is not disabled")
        } else if !self.modification.lets(item) {
            format!("{item_id:?} cannot be selected: a filter hides it; clear the filter first")
        } else {
            return Ok(item.label(self.stage.value_field()));
        };
        Err((RelayCode::ToolExecutionFailed, why))
    }

    fn unknown_item(&self, id: &str) -> Refusal {
        let (id, stage) = (shown(&Value::from(id)), self.stage.as_str());
        let first = self.items().into_iter().next();
        let first = first.map_or_else(String::new, |item| format!(", such as {:?}", item.id));
        let why = format!("there is no item {id} at stage {stage}; use the id of one{first}");
        (RelayCode::InvalidParams, why)
    }
}
