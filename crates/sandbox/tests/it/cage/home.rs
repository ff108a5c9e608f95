//! The home folder of a command: kept, under a layer, or empty.

use std::fs;

use samovar_sandbox::cage::{Ended, Home, Level};

use super::{Machine, give, run, users};

/// A command, the home that it has, and what it writes.
type Row = (&'static str, fn(&Machine) -> Option<Home>, &'static str);

fn kept(machine: &Machine) -> Option<Home> {
    let folder = machine.workspace.join("holder/data/home");
    Some(Home {
        folder,
        layer: None,
    })
}

fn layered(machine: &Machine) -> Option<Home> {
    let layer = Some(machine.workspace.join("holder/data/layer"));
    kept(machine).map(|home| Home { layer, ..home })
}

fn empty(_: &Machine) -> Option<Home> {
    None
}

// proves TL-6
#[test]
fn a_home_is_kept_and_a_layer_over_it_leaves_it_as_it_was() {
    const ROWS: [Row; 7] = [
        ("echo mine > ~/file; mkdir ~/.npm", kept, ""),
        ("cat ~/file; echo more >> ~/file", kept, "mine\n"),
        (
            "cat ~/file; rm -r ~/file ~/.npm; touch ~/other",
            layered,
            "mine\nmore\n",
        ),
        ("ls -A ~", layered, "other\n"),
        ("ls -A ~", kept, ".npm\nfile\n"),
        ("ls -A ~; touch ~/gone", empty, ""),
        ("ls -A ~", empty, ""),
    ];
    for user in users() {
        let machine = Machine::new(user);
        let data = machine.workspace.join("holder/data");
        for folder in ["home", "layer/upper", "layer/work"] {
            fs::create_dir_all(data.join(folder)).unwrap();
        }
        if let Some(user) = user {
            give(&data, user);
        }
        let cages = machine.cages(Level::Namespaces);
        for (command, home, expected) in ROWS {
            let mut job = machine.job(command);
            job.env.retain(|(name, _)| name != "HOME");
            job.home = home(&machine);
            let (written, ended) = run(&cages, job.clone());
            assert_eq!(ended, Ended::Exited(0), "{user:?} {command}: {written}");
            assert_eq!(written, expected, "{user:?} {command}");
            // Of the data folder it shows no more than the home.
            if job.home.is_some() {
                let data = data.display();
                job.args[1] = format!("ls -A {data}; cat {data}/token; touch {data}/new");
                let (written, _) = run(&cages, job);
                assert!(written.starts_with("home\n"), "{written}");
                assert!(!written.contains("canary"), "{written}");
            }
        }
        assert!(!data.join("new").exists());
    }
}
