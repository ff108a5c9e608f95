//! Jan's local API server, as its source tells: the models that run, owned by `llama.cpp`, each
//! made in second 1, and nothing about tools.

use serde_json::json;

use super::{Question, text};
use crate::{
    model::{Model, State},
    script::Page,
};

pub(super) fn answer(question: &Question<'_>, models: &[Model]) -> Page {
    if !question.gets("/v1/models") {
        return text(404, "Not Found");
    }
    let running = models.iter().filter(|model| model.state == State::Loaded);
    let models = running.map(
        |model| json!({"id": model.name, "object": "model", "created": 1, "owned_by": "llama.cpp"}),
    );
    Page::json(
        200,
        &json!({"object": "list", "data": models.collect::<Vec<_>>()}),
    )
}
