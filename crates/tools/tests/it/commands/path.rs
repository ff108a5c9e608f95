//! Which programs a command finds: those of the workspace only where a person was asked.

use std::fs::{self, Permissions};

use samovar_core::{CallFacts, Status};
use samovar_tools::RecorderBounds;

use super::*;

/// A `PATH` in which a program of the workspace is found, and that program; `{ws}` is the workspace.
const FORMS: [(&str, &str); 5] = [
    ("bin:/usr/bin:/bin", "ls"),
    (":/usr/bin:/bin", "ls"),
    ("{ws}/bin:/usr/bin:/bin", "ls"),
    ("/usr/bin:/bin:{ws}/bin", "no-program-of-this-machine"),
    ("bin", "ls"),
];

/// A program of each name in each place of the workspace that a form names.
fn plant(yard: &Yard) {
    for program in ["ls", "git", "no-program-of-this-machine"] {
        for place in [program.to_owned(), format!("bin/{program}")] {
            yard.put(&place, "#!/bin/sh\necho planted\n");
            fs::set_permissions(yard.ws(&place), Permissions::from_mode(0o755)).unwrap();
        }
    }
}

// proves TL-6, TL-7
#[tokio::test]
async fn a_program_of_the_workspace_runs_only_where_a_person_was_asked() {
    for (form, program) in FORMS {
        let yard = Yard::new();
        plant(&yard);
        let ws = yard.ws("").canonicalize().unwrap();
        let path = form.replace("{ws}", ws.to_str().unwrap());
        let data = yard.ws("data");
        let yard = yard.commanding_by(&path, &data, RecorderBounds::default());
        for (reads, by_rule) in [(true, false), (false, true), (false, false)] {
            let args = json!({ "command": program });
            let call = yard.call_with("call", "exec", args, &mut |context| {
                context.by_rule = by_rule;
                context.facts = Some(CallFacts {
                    reads,
                    ..CallFacts::default()
                });
            });
            let outcome = call.await;
            assert_eq!(outcome.status, Status::Done, "{}", outcome.text);
            let is_asked = !reads && !by_rule;
            let ran = outcome.text.contains("planted");
            assert_eq!(ran, is_asked, "{form} {reads} {by_rule}: {}", outcome.text);
        }
        // Which git there is was asked of the one that such commands get.
        let status = json!({"command": "git status"});
        assert!(yard.facts("exec", status).unwrap().reads, "{form}");
    }
}
