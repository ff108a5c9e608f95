//! Secrets of toolchains: planted where package managers, version managers and git leave them, and read
//! back in each sandbox.

use super::*;

/// What is planted in a home folder: secrets; programs and libraries; and what else builds and
/// installations need, and commands that only read do not.
const PLANTED: &str = include_str!("toolchains.tsv");

/// Where what is of a kind is planted, with its text.
fn planted(kind: &str) -> impl Iterator<Item = (&'static str, String)> {
    let rows = PLANTED.lines().filter(move |row| row.starts_with(kind));
    rows.map(|row| {
        let mut cells = row.split('\t').skip(1);
        let (path, text) = (cells.next().unwrap(), cells.next().unwrap());
        (path, text.replace("{t}", "\t").replace("{n}", "\n"))
    })
}

/// The names of what is planted of these kinds, in their order.
fn places(kinds: &[&str]) -> Vec<&'static str> {
    let all = kinds.iter().flat_map(|kind| planted(kind));
    let mut places: Vec<_> = all.map(|(path, _)| path).collect();
    places.sort_unstable();
    places
}

/// Plants all of it in the home folder of a machine.
fn plant(machine: &Machine) {
    for (path, text) in ["secret", "program", "cache"].into_iter().flat_map(planted) {
        let path = machine.home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    // By another name than that of its kind.
    let link = machine.home.join(".nvm/versions/node/v22.1.0/npmrc");
    symlink("../../../own-settings", link).unwrap();
    if let Some(user) = machine.user {
        give(machine.owner.path(), user);
    }
}

/// A sandbox, what it shows besides the homes, and whether the command may change something.
type Variant = (Level, bool, bool);

/// The files of the home folder in which a command finds a word, by their paths below it.
fn found(machine: &Machine, (level, shows_above, writes): Variant, word: &str) -> Vec<String> {
    let above = shows_above.then(|| machine.owner.path().to_owned());
    let settings = CageSettings {
        read: above.into_iter().collect(),
        ..machine.settings(level)
    };
    // With Landlock a folder is not listed in which something is hidden.
    let look = format!(
        "cd '{}' && (grep -rls {word} .; grep -ls {word} {}) | sed 's|^[.]/||' | LC_ALL=C sort -u",
        machine.home.display(),
        places(&["secret", "program", "cache"]).join(" ")
    );
    let job = Job {
        writes,
        ..machine.job(&look)
    };
    let (text, ended) = run(&Cages::new(settings).unwrap(), job);
    assert_eq!(ended, Ended::Exited(0), "{level:?}: {text}");
    text.lines().map(str::to_owned).collect()
}

// proves TL-6
#[test]
fn no_command_sees_a_secret_of_a_toolchain_and_one_that_reads_sees_programs_alone() {
    let mut levels = vec![Level::Namespaces, Level::Landlock];
    levels.retain(|level| is_provable(*level));
    for user in users() {
        for comma in [false, true] {
            let mut machine = Machine::new(user);
            if comma {
                // No layer can be laid over such a folder.
                machine.home = machine.owner.path().join("home,of");
            }
            plant(&machine);
            let off = (Level::Off, false, true);
            assert_eq!(
                found(&machine, off, "SECRET"),
                places(&["secret"]),
                "the border"
            );
            let programs = places(&["program"]);
            let all = places(&["program", "cache"]);
            for level in &levels {
                for above in [false, true] {
                    for (writes, plain) in [(false, &programs), (true, &all)] {
                        let variant = (*level, above, writes);
                        let told = format!("{user:?} {comma} {variant:?}");
                        assert_eq!(found(&machine, variant, "SECRET"), [""; 0], "{told}");
                        assert_eq!(&found(&machine, variant, "PLAIN"), plain, "{told}");
                    }
                }
            }
        }
    }
}

// proves TL-6
#[test]
fn settings_of_builds_are_shown_without_what_is_secret_and_a_secret_that_came_later_is_not_seen() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    let machine = Machine::new(None);
    plant(&machine);
    let cages = machine.cages(Level::Namespaces);
    let home = machine.home.display();
    let cat = |path: &str| run(&cages, machine.job(&format!("cat {home}/{path}"))).0;
    assert_eq!(
        cat(".cargo/config.toml"),
        "[build]\njobs = 3\n\n[http]\n\n[registries.own]\n"
    );
    assert_eq!(cat(".cargo/credentials"), "");

    for (path, text) in [
        (
            ".cargo/git/db/other-1/config",
            "\turl = https://me:SECRET@host/PLAIN",
        ),
        (".nvm/versions/node/v24.0.0/etc/npmrc", "SECRET"),
        (".cargo/config.toml", "jobs = 4"),
    ] {
        let path = machine.home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    assert_eq!(cat(".cargo/git/db/other-1/config"), "");
    assert_eq!(cat(".nvm/versions/node/v24.0.0/etc/npmrc"), "");
    assert_eq!(cat(".cargo/config.toml"), "jobs = 4");
    // Its own changes are the command's.
    let own = format!("echo own > {home}/.cargo/config.toml && cat {home}/.cargo/config.toml");
    assert_eq!(run(&cages, machine.job(&own)).0, "own\n");
}
