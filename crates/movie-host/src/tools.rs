//! The tools: what an agent is told of each at a stage, and the deed that a call of it is (RL-19).

use samovar_core::command::is_blank;
use serde_json::{Map, Value, json};

use crate::catalogue::{SEATS, TICKET_TYPES, TicketType};
use crate::modification::{Filter, Highlight, ModificationType, Operator, Order};
use crate::schema::{misfit, shown};
use crate::stage::Stage;

/// Characters of a text for the person, at most.
pub(crate) const MAX_TEXT: usize = 16_384;
/// Characters of a value that items are compared with or that is put in an item's place, at most.
const MAX_VALUE: usize = 200;
/// Values that one filter compares with, at most.
const MAX_VALUES: usize = 20;

const STYLES: [&str; 3] = ["border", "glow", "badge"];

/// A tool of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Filter,
    Sort,
    Highlight,
    Augment,
    ClearModification,
    Select,
    SetQuantity,
    Next,
    Prev,
    PostMessage,
}

/// What a call does, when its parameters fit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Deed {
    Filter(Filter),
    Sort(&'static str, Order),
    Highlight(Highlight),
    Augment(Vec<(String, String)>),
    Clear(Option<ModificationType>),
    Select(String),
    /// The place of a kind of ticket in [`TICKET_TYPES`], and how many.
    SetQuantity(usize, u32),
    Next,
    Prev,
    PostMessage(String),
}

impl Tool {
    /// All of them, in the order in which they are told.
    pub(crate) const ALL: [Self; 10] = [
        Self::Filter,
        Self::Sort,
        Self::Highlight,
        Self::Augment,
        Self::ClearModification,
        Self::Select,
        Self::SetQuantity,
        Self::Next,
        Self::Prev,
        Self::PostMessage,
    ];

    /// The tool as it stands in a call.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Sort => "sort",
            Self::Highlight => "highlight",
            Self::Augment => "augment",
            Self::ClearModification => "clearModification",
            Self::Select => "select",
            Self::SetQuantity => "setQuantity",
            Self::Next => "next",
            Self::Prev => "prev",
            Self::PostMessage => "postMessage",
        }
    }

    /// The tool of this name; none when there is none.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == name)
    }

    /// Whether its answer shows what it changed at once (RL-10).
    pub(crate) fn shows_screen(self) -> bool {
        match self {
            Self::Next | Self::Prev | Self::PostMessage => false,
            Self::Filter
            | Self::Sort
            | Self::Highlight
            | Self::Augment
            | Self::ClearModification
            | Self::Select
            | Self::SetQuantity => true,
        }
    }

    /// What an agent is told of it at a stage.
    pub(crate) fn to_json(self, stage: Stage) -> Value {
        let (name, description) = (self.as_str(), self.description(stage));
        json!({"name": name, "description": description, "parameters": self.parameters(stage)})
    }

    fn description(self, stage: Stage) -> &'static str {
        match self {
            Self::Filter => {
                "Shows only the items whose field compares so with the value. Text is compared \
                 without its case. Filters on several fields hold together."
            }
            Self::Sort => "Shows the items in the order of a field.",
            Self::Highlight => "Lets items stand out for the person, and no others.",
            Self::Augment => "Shows the person other words for items; what they are stays.",
            Self::ClearModification => {
                "Takes back filters, order, highlights or other words; all of it without a type."
            }
            Self::Select if stage == Stage::Seat => {
                "Chooses a seat that is visible and not disabled, or gives it back when it is \
                 chosen. Choose as many as there are people."
            }
            Self::Select => {
                "Chooses an item that is visible and not disabled, in place of the one before."
            }
            Self::SetQuantity => {
                "Sets how many tickets of a kind there are. Their sum must be the number of seats."
            }
            Self::Next if stage == Stage::Confirm => "Books what is on the screen.",
            Self::Next => "Goes on to the next stage.",
            Self::Prev => {
                "Goes back to the stage before; what is chosen stays until it is changed."
            }
            Self::PostMessage => "Says something to the person.",
        }
    }

    /// The JSON Schema of its parameters, which a call is held to.
    pub(crate) fn parameters(self, stage: Stage) -> Value {
        let text = |max: usize| json!({"type": "string", "minLength": 1, "maxLength": max});
        let field = json!({"type": "string", "enum": stage.fields()});
        let named = |names: Vec<&str>| json!({"type": "string", "enum": names});
        let ids = json!({"type": "string"});
        match self {
            Self::Filter => {
                let one = [
                    json!({"type": "string", "maxLength": MAX_VALUE}),
                    json!({"type": "number"}),
                ];
                let many = json!({"type": "array", "minItems": 1, "maxItems": MAX_VALUES,
                    "items": {"anyOf": one}});
                let value = json!({"anyOf": [one[0], one[1], many],
                    "description": "a list for the operator in, else text or a number as the field has it"});
                let operators = named(Operator::ALL.map(Operator::as_str).to_vec());
                object(
                    &[("field", field), ("operator", operators), ("value", value)],
                    3,
                )
            }
            Self::Sort => {
                let orders = named(Order::ALL.map(Order::as_str).to_vec());
                object(&[("field", field), ("order", orders)], 2)
            }
            Self::Highlight => {
                let list = json!({"type": "array", "minItems": 1, "maxItems": SEATS, "items": ids});
                object(&[("itemIds", list), ("style", named(STYLES.to_vec()))], 2)
            }
            Self::Augment => {
                let one = object(&[("itemId", ids), ("value", text(MAX_VALUE))], 2);
                let list = json!({"type": "array", "minItems": 1, "maxItems": SEATS, "items": one});
                object(&[("items", list)], 1)
            }
            Self::ClearModification => {
                let types = named(ModificationType::ALL.map(ModificationType::as_str).to_vec());
                object(&[("type", types)], 0)
            }
            Self::Select => object(&[("itemId", ids)], 1),
            Self::SetQuantity => {
                let types = named(TICKET_TYPES.iter().map(|of| of.id).collect());
                let quantity = json!({"type": "integer", "minimum": 0, "maximum": SEATS});
                object(&[("typeId", types), ("quantity", quantity)], 2)
            }
            Self::Next | Self::Prev => object(&[], 0),
            Self::PostMessage => object(&[("text", text(MAX_TEXT))], 1),
        }
    }

    /// The deed that a call is.
    ///
    /// # Errors
    /// A sentence with the value that does not fit.
    pub(crate) fn read(self, stage: Stage, params: &Map<String, Value>) -> Result<Deed, String> {
        if let Some(why) = misfit(self.as_str(), &self.parameters(stage), params) {
            return Err(why);
        }
        // What the schema lets through is a deed, but for what it cannot tell: a text that nobody
        // would see.
        let deed = self.deed(stage, params);
        deed.ok_or_else(|| {
            let text = shown(&Value::from(text(params, "text")));
            format!(
                "{} requires text that can be seen; text was {text}",
                self.as_str()
            )
        })
    }

    fn deed(self, stage: Stage, params: &Map<String, Value>) -> Option<Deed> {
        let text = |name: &str| text(params, name);
        let field = || {
            let mut fields = stage.fields().iter().copied();
            fields.find(|field| *field == text("field"))
        };
        Some(match self {
            Self::Filter => Deed::Filter(Filter {
                field: field()?,
                operator: of_name(&Operator::ALL, Operator::as_str, text("operator"))?,
                value: params.get("value")?.clone(),
            }),
            Self::Sort => Deed::Sort(
                field()?,
                of_name(&Order::ALL, Order::as_str, text("order"))?,
            ),
            Self::Highlight => {
                let item_ids = params.get("itemIds")?.as_array()?.iter();
                Deed::Highlight(Highlight {
                    item_ids: item_ids
                        .filter_map(Value::as_str)
                        .map(str::to_owned)
                        .collect(),
                    style: text("style").to_owned(),
                })
            }
            Self::Augment => {
                let items = params.get("items")?.as_array()?.iter();
                let words = |item: &Value| {
                    let id = item["itemId"].as_str()?.to_owned();
                    Some((id, item["value"].as_str()?.to_owned()))
                };
                Deed::Augment(items.filter_map(words).collect())
            }
            Self::ClearModification => {
                let types = ModificationType::ALL;
                Deed::Clear(of_name(&types, ModificationType::as_str, text("type")))
            }
            Self::Select => Deed::Select(text("itemId").to_owned()),
            Self::SetQuantity => {
                let of = |of: &TicketType| of.id == text("typeId");
                let of = TICKET_TYPES.iter().position(of)?;
                Deed::SetQuantity(of, whole(params.get("quantity")?)?)
            }
            Self::Next => Deed::Next,
            Self::Prev => Deed::Prev,
            Self::PostMessage if is_blank(text("text")) => return None,
            Self::PostMessage => Deed::PostMessage(text("text").to_owned()),
        })
    }
}

/// The schema of an object with these fields alone, of which so many must be there.
fn object(fields: &[(&str, Value)], required: usize) -> Value {
    let names: Vec<_> = fields
        .iter()
        .take(required)
        .map(|(name, _)| *name)
        .collect();
    let properties = fields.iter().cloned();
    let properties: Map<_, _> = properties.map(|(name, of)| (name.to_owned(), of)).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": false,
    })
}

fn text<'a>(params: &'a Map<String, Value>, name: &str) -> &'a str {
    params.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn of_name<T: Copy>(all: &[T], as_str: fn(T) -> &'static str, name: &str) -> Option<T> {
    all.iter().copied().find(|of| as_str(*of) == name)
}

/// A whole number, also when it is written as `2.0`.
fn whole(value: &Value) -> Option<u32> {
    let number = value.as_f64()?;
    (0..=u32::from(SEATS)).find(|whole| (f64::from(*whole) - number).abs() < 0.5)
}
