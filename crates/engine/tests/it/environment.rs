//! What the owner's shell says, kept with its turn for the commands of that.

use std::sync::{Arc, Mutex};

use samovar_core::command::Post;
use samovar_core::situation::{Environment, Posted};
use samovar_core::{Action, Code, Command, Delivery, Outcome, Sender, ToolReply};
use samovar_doubles::{TestTool, call, say};
use serde_json::json;

use crate::children::{agent, delegate, world};
use crate::rig::{Rig, said, session, settings, well};

fn said_in(text: &str, delivery: Delivery) -> Action {
    let mut action = said(text, delivery);
    if let Action::Post(Post { posted, .. }) = &mut action {
        let environment = Environment {
            path: Some("/there/bin".to_owned()),
            ..Environment::default()
        };
        *posted = Posted::default().with_environment(environment).unwrap();
    }
    action
}

// proves TL-6
#[tokio::test]
async fn an_environment_is_its_turns_and_those_of_its_agents_and_the_owners_alone() {
    let world = world(|who, said, results| match (who, said, results) {
        ("master", "go", 0) => call("subAgent", delegate("helper", "look")),
        (_, _, 0) => call("run", json!({})),
        _ => say("fine"),
    });
    let seen: Arc<Mutex<Vec<_>>> = Arc::default();
    let run = {
        let seen = seen.clone();
        TestTool::new("run", move |_, context| {
            let path = context.environment.and_then(|it| it.path.clone());
            seen.lock().unwrap().push(path);
            async { ToolReply::Closed(Outcome::done("ran")) }
        })
    };
    let agents = [agent("helper", &["run"], &[])];
    let rig = Rig::delegating(world, [run], agents, settings()).await;

    let turn = crate::rig::turn_of(rig.submit(said_in("go", Delivery::Queue)).await);
    assert_eq!(rig.over(&turn).await, well());
    assert_eq!(rig.turn("run it").await, well());

    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen, [Some("/there/bin".to_owned()), None]);
    let steering = rig.refused(said_in("x", Delivery::Steer)).await;
    assert_eq!(steering, Code::InvalidParams);
    let command = Command {
        by: Sender::Token {
            name: "another".into(),
            is_owner: false,
        },
        session: session(),
        action: said_in("go", Delivery::Queue),
    };
    let refused = rig.engine.submit(command).await.unwrap_err();
    assert_eq!(refused.code, Code::Forbidden);
}
