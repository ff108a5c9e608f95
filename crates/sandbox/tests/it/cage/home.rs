//! The home folder of a command: kept, under a layer, or empty.

use std::fs;

use samovar_sandbox::cage::{Ended, Home, Level};

use super::{Machine, give, run, users};

/// Which home a command has.
#[derive(Clone, Copy)]
enum Which {
    Kept,
    Layered,
    Empty,
}

/// A command, the home that it has, and what it writes.
type Row = (&'static str, Which, &'static str);

impl Which {
    fn of(self, machine: &Machine) -> Option<Home> {
        let data = machine.workspace.join("holder/data");
        let layer = match self {
            Self::Kept => None,
            Self::Layered => Some(data.join("layer")),
            Self::Empty => return None,
        };
        let folder = data.join("home");
        Some(Home { folder, layer })
    }
}

// proves TL-6
#[test]
fn a_home_is_kept_and_a_layer_over_it_leaves_it_as_it_was() {
    const ROWS: [Row; 7] = [
        ("echo mine > ~/file; mkdir ~/.npm", Which::Kept, ""),
        ("cat ~/file; echo more >> ~/file", Which::Kept, "mine\n"),
        (
            "cat ~/file; rm -r ~/file ~/.npm; touch ~/other",
            Which::Layered,
            "mine\nmore\n",
        ),
        ("ls -A ~", Which::Layered, "other\n"),
        ("ls -A ~", Which::Kept, ".npm\nfile\n"),
        ("ls -A ~; touch ~/gone", Which::Empty, ""),
        ("ls -A ~", Which::Empty, ""),
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
            job.home = home.of(&machine);
            let (written, ended) = run(&cages, job.clone());
            assert_eq!(ended, Ended::Exited(0), "{user:?} {command}: {written}");
            assert_eq!(written, expected, "{user:?} {command}");
            // Of the data folder it shows the home alone.
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
