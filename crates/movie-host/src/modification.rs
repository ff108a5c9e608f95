//! What changes how the items of a stage are shown, and nothing else.

use std::cmp::Ordering;

use serde_json::{Value, json};

use crate::item::Item;

/// Filters at once, at most; one more takes the place of the oldest.
pub(crate) const MAX_FILTERS: usize = 8;

/// How a field is compared with a value. Text is compared without its case, by the alphabet, which
/// is the order of dates and times too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Eq,
    Neq,
    Contains,
    Gt,
    Lt,
    Gte,
    Lte,
    In,
}

/// What is left of the items.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Filter {
    pub(crate) field: &'static str,
    pub(crate) operator: Operator,
    pub(crate) value: Value,
}

/// In which order they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Asc,
    Desc,
}

/// What of this can be taken back alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModificationType {
    Filter,
    Sort,
    Highlight,
    Augment,
}

/// Items that stand out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Highlight {
    pub(crate) item_ids: Vec<String>,
    pub(crate) style: String,
}

/// All that changes how the items of a stage are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Modification {
    filters: Vec<Filter>,
    sort: Option<(&'static str, Order)>,
    highlight: Option<Highlight>,
    augment: Vec<(String, String)>,
}

impl Modification {
    /// Leaves fewer items. A field has one filter for each operator.
    pub(crate) fn filter(&mut self, filter: Filter) {
        let is_same = |old: &Filter| old.field == filter.field && old.operator == filter.operator;
        match self.filters.iter().position(is_same) {
            Some(at) => self.filters[at] = filter,
            None => self.filters.push(filter),
        }
        if self.filters.len() > MAX_FILTERS {
            self.filters.remove(0);
        }
    }

    /// Puts the items into an order.
    pub(crate) fn sort(&mut self, field: &'static str, order: Order) {
        self.sort = Some((field, order));
    }

    /// Lets items stand out, and no others.
    pub(crate) fn highlight(&mut self, highlight: Highlight) {
        self.highlight = Some(highlight);
    }

    /// Puts words in the place of what a person sees of items.
    pub(crate) fn augment(&mut self, words: Vec<(String, String)>) {
        for (item_id, value) in words {
            match self.augment.iter_mut().find(|(id, _)| *id == item_id) {
                Some((_, old)) => *old = value,
                None => self.augment.push((item_id, value)),
            }
        }
    }

    /// Takes back what was changed, all of it without a type.
    pub(crate) fn clear(&mut self, of: Option<ModificationType>) {
        match of {
            None => *self = Self::default(),
            Some(ModificationType::Filter) => self.filters.clear(),
            Some(ModificationType::Sort) => self.sort = None,
            Some(ModificationType::Highlight) => self.highlight = None,
            Some(ModificationType::Augment) => self.augment.clear(),
        }
    }

    /// The items that are left, in their order.
    pub(crate) fn visible<'a>(&self, items: &'a [Item]) -> Vec<&'a Item> {
        let mut visible: Vec<_> = items.iter().filter(|item| self.lets(item)).collect();
        if let Some((field, order)) = self.sort {
            visible.sort_by(|one, other| {
                let ordering = match (one.field(field), other.field(field)) {
                    (Some(one), Some(other)) => compare(one, other).unwrap_or(Ordering::Equal),
                    (Some(_) | None, None) | (None, Some(_)) => Ordering::Equal,
                };
                match order {
                    Order::Asc => ordering,
                    Order::Desc => ordering.reverse(),
                }
            });
        }
        visible
    }

    /// Whether an item passes the filters.
    pub(crate) fn lets(&self, item: &Item) -> bool {
        self.filters.iter().all(|filter| filter.lets(item))
    }

    /// The words that were put in the place of an item's own.
    pub(crate) fn words(&self, item_id: &str) -> Option<&str> {
        let mut augment = self.augment.iter();
        augment
            .find(|(id, _)| id == item_id)
            .map(|(_, words)| words.as_str())
    }

    /// The items that stand out.
    pub(crate) fn highlighted(&self) -> &[String] {
        self.highlight
            .as_ref()
            .map_or(&[], |highlight| &highlight.item_ids)
    }

    /// All of it, as it stands in the screen.
    pub(crate) fn to_json(&self) -> Value {
        let filters: Vec<_> = self.filters.iter().map(Filter::to_json).collect();
        let sort = self
            .sort
            .map(|(field, order)| json!({"field": field, "order": order.as_str()}));
        let highlight = self
            .highlight
            .as_ref()
            .map(|Highlight { item_ids, style }| json!({"itemIds": item_ids, "style": style}));
        let augment: Vec<_> = self
            .augment
            .iter()
            .map(|(item_id, value)| json!({"itemId": item_id, "value": value}))
            .collect();
        json!({"filter": filters, "sort": sort, "highlight": highlight, "augment": augment})
    }
}

impl Filter {
    fn lets(&self, item: &Item) -> bool {
        let Some(found) = item.field(self.field) else {
            return false;
        };
        let ordering = |fits: fn(Ordering) -> bool| compare(found, &self.value).is_some_and(fits);
        match self.operator {
            Operator::Eq => ordering(Ordering::is_eq),
            Operator::Neq => !ordering(Ordering::is_eq),
            Operator::Gt => ordering(Ordering::is_gt),
            Operator::Lt => ordering(Ordering::is_lt),
            Operator::Gte => ordering(Ordering::is_ge),
            Operator::Lte => ordering(Ordering::is_le),
            Operator::Contains => match (found, &self.value) {
                (Value::String(found), Value::String(part)) => {
                    found.to_lowercase().contains(&part.to_lowercase())
                }
                _ => false,
            },
            Operator::In => self.value.as_array().is_some_and(|values| {
                let is_found = |value| compare(found, value).is_some_and(Ordering::is_eq);
                values.iter().any(is_found)
            }),
        }
    }

    fn to_json(&self) -> Value {
        let (field, operator) = (self.field, self.operator.as_str());
        json!({"field": field, "operator": operator, "value": self.value})
    }
}

impl Operator {
    /// All of them.
    pub(crate) const ALL: [Self; 8] = [
        Self::Eq,
        Self::Neq,
        Self::Contains,
        Self::Gt,
        Self::Lt,
        Self::Gte,
        Self::Lte,
        Self::In,
    ];

    /// The operator as it stands in a call.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Neq => "neq",
            Self::Contains => "contains",
            Self::Gt => "gt",
            Self::Lt => "lt",
            Self::Gte => "gte",
            Self::Lte => "lte",
            Self::In => "in",
        }
    }
}

impl Order {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Asc, Self::Desc];

    /// The order as it stands in a call.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Asc => "asc",
            Self::Desc => "desc",
        }
    }
}

impl ModificationType {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Filter, Self::Sort, Self::Highlight, Self::Augment];

    /// The type as it stands in a call.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Sort => "sort",
            Self::Highlight => "highlight",
            Self::Augment => "augment",
        }
    }
}

/// How two values of one kind compare; none when they are of two.
pub(crate) fn compare(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::String(one), Value::String(other)) => {
            Some(one.to_lowercase().cmp(&other.to_lowercase()))
        }
        (Value::Number(one), Value::Number(other)) => one.as_f64()?.partial_cmp(&other.as_f64()?),
        _ => None,
    }
}
