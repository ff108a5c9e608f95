//! The contract file: the table of routes and the types that it names, in TypeScript.

use samovar_server::route::{self, Route, Verb};
use samovar_wire::agent::{BASE_PATH, ErrorBody};
use samovar_wire::ui::{UiDataTypes, UiMetadata};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::declaration::{block, commented, declaration, named, type_of};

const HEAD: &str = "\
// Generated from the server's Rust types by `cargo xtask contract`; do not edit.
//
// The contract of a Samovar server's agent service: its methods, their parameters and results,
// and the events of their streams. docs/protocols.md explains it, docs/requirements.md explains ids
// such as AS-7, and client.ts, in this folder, is a client for it.";

const METHOD: &str = "\
/** How a method is called. */
export interface AgentMethod {
  /** Its path below `AGENT_BASE_PATH`. */
  readonly path: string;
  /** `POST` with the parameters in a JSON body, `GET` with them in the query. */
  readonly verb: \"POST\" | \"GET\";
  /** `value`: an answer at once; `turn`: one when the turn is over; `stream`: its events. */
  readonly answers: \"value\" | \"turn\" | \"stream\";
}";

/// Further routes of the client: the constant of its path, the path, and what stands about it.
const PATHS: [(&str, &str, &str); 2] = [
    (
        "APPROVALS_PATH",
        "/api/approvals",
        "Where approvals are listed, and each decided about below its id.",
    ),
    ("TICKETS_PATH", "/api/tickets", "Where a ticket is created."),
];

/// A method of the service, made from a route.
struct Method {
    name: String,
    path: String,
    verb: Verb,
    answers: Answers,
    about: &'static str,
    request: Value,
    response: Value,
}

#[derive(Clone, Copy)]
enum Answers {
    Value,
    Turn,
    Stream,
}

/// The types that the methods name, by name.
struct Types {
    taken: SchemaGenerator,
    answered: SchemaGenerator,
}

/// The whole file.
pub(super) fn contract() -> String {
    let mut types = Types::new();
    let methods = methods(&mut types);
    further(&mut types);
    let types = types.all();
    let base = format!("export const AGENT_BASE_PATH = {BASE_PATH:?};");
    let mut parts = vec![
        HEAD.to_owned(),
        commented("The path of a method is `{AGENT_BASE_PATH}/{path}`.", &base),
        paths(),
        service(&methods, &types),
        METHOD.to_owned(),
        table(&methods),
    ];
    for (name, schema) in &types {
        parts.push(declaration(name, schema));
        if name == "AgentStreamEvent" {
            parts.push(event_types(schema));
        }
    }
    parts.join("\n\n") + "\n"
}

fn paths() -> String {
    let lines = PATHS
        .map(|(name, path, about)| commented(about, &format!("export const {name} = {path:?};")));
    lines.join("\n\n")
}

/// The types of the further routes, and those that a client of the AI SDK names.
fn further(types: &mut Types) {
    types.answered.subschema_for::<UiMetadata>();
    types.answered.subschema_for::<UiDataTypes>();
    let is_further = |route: &Route| {
        let mut paths = PATHS.iter();
        paths.any(|(_, path, _)| route.path.starts_with(path))
    };
    for route in route::table().iter().filter(|route| is_further(route)) {
        (route.request)(&mut types.taken);
        (route.response)(&mut types.answered);
    }
}

fn methods(types: &mut Types) -> Vec<Method> {
    let routes = route::table();
    let base = format!("{BASE_PATH}/");
    let path_of = |route: &Route| route.path.strip_prefix(&base).map(str::to_owned);
    let paths: Vec<_> = routes.iter().filter_map(path_of).collect();
    let mut methods = Vec::new();
    for route in &routes {
        let Some(path) = path_of(route) else {
            continue;
        };
        let streams = paths.contains(&format!("{path}/stream"));
        // The seeds' name of a method that streams is the stream's.
        let verb = route.verbs[0];
        let (name, answers) = match path.strip_suffix("/stream") {
            // The same stream without what begins it.
            Some(name) if verb == Verb::Get => (name.replace("send", "resume"), Answers::Stream),
            Some(name) => (name.to_owned(), Answers::Stream),
            None if streams => (format!("{path}AndWait"), Answers::Turn),
            None => (path.clone(), Answers::Value),
        };
        methods.push(Method {
            name,
            path,
            verb,
            answers,
            about: route.about,
            request: (route.request)(&mut types.taken).to_value(),
            response: (route.response)(&mut types.answered).to_value(),
        });
    }
    methods
}

impl Types {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12();
        let mut answered = settings.clone().for_serialize().into_generator();
        answered.subschema_for::<ErrorBody>();
        let taken = settings.for_deserialize().into_generator();
        Self { taken, answered }
    }

    fn all(mut self) -> Map<String, Value> {
        let mut all = self.taken.take_definitions(false);
        for (name, schema) in self.answered.take_definitions(false) {
            let taken = all.insert(name.clone(), schema.clone());
            let agrees = taken.is_none_or(|taken| taken == schema);
            assert!(
                agrees,
                "{name} is not taken as it is answered: it needs two names"
            );
        }
        all
    }
}

fn service(methods: &[Method], types: &Map<String, Value>) -> String {
    let lines: Vec<_> = methods
        .iter()
        .map(|method| {
            let answer = match (method.answers, type_of(&method.response)) {
                (Answers::Stream, event) => format!("AsyncIterable<{event}>"),
                (Answers::Value | Answers::Turn, answer) if answer == "null" => {
                    "Promise<void>".to_owned()
                }
                (Answers::Value | Answers::Turn, answer) => format!("Promise<{answer}>"),
            };
            let request = named(&method.request).and_then(|name| types.get(name));
            let request = request.unwrap_or_else(|| panic!("{} takes no type", method.name));
            let mark = if request["required"].is_null() {
                "?"
            } else {
                ""
            };
            let (name, params) = (&method.name, type_of(&method.request));
            let line = format!("{name}(params{mark}: {params}): {answer};");
            commented(method.about, &line)
        })
        .collect();
    let code = format!("export interface AgentService {}", block(&lines));
    commented(
        "The service. Every method takes one object of parameters.",
        &code,
    )
}

fn table(methods: &[Method]) -> String {
    let lines: Vec<_> = methods
        .iter()
        .map(|method| {
            let answers = match method.answers {
                Answers::Value => "value",
                Answers::Turn => "turn",
                Answers::Stream => "stream",
            };
            let (name, path, verb) = (&method.name, &method.path, method.verb.as_str());
            format!("{name}: {{ path: {path:?}, verb: {verb:?}, answers: {answers:?} }},")
        })
        .collect();
    let proof = "as const satisfies Record<keyof AgentService, AgentMethod>";
    let code = format!("export const AGENT_METHODS = {} {proof};", block(&lines));
    commented("Every method of the service, and how it is called.", &code)
}

/// The types of the events as constants, for who does not want to write them as text.
fn event_types(schema: &Value) -> String {
    let events = schema["oneOf"].as_array().unwrap().iter();
    let lines: Vec<_> = events
        .map(|event| {
            let kind = event["properties"]["type"]["const"].as_str().unwrap();
            let line = format!("{}: {kind:?},", kind.to_uppercase());
            commented(event["description"].as_str().unwrap(), &line)
        })
        .collect();
    let name = "AgentStreamEventType";
    let code = format!("export const {name} = {} as const;", block(&lines));
    let about = "The types of events, in the order of a turn.";
    let of_one = format!("export type {name} = (typeof {name})[keyof typeof {name}];");
    format!("{}\n\n{of_one}", commented(about, &code))
}
