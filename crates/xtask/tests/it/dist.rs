//! `cargo xtask dist` with a small program in place of the server: what is made, and what is in it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Answers what `dist` asks, and README's first command.
const PROGRAM: &str = r##"fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words[0].as_str() {
        "--version" => println!("samovar 1.2.3"),
        "completions" => println!("# for {}", words[1]),
        "run" => println!("{} in {:?}", words[1], std::env::current_dir()),
        _ => std::process::exit(2),
    }
}"##;

/// Runs a program of this machine, as an emulator runs one of another kind.
const EMULATOR: &str = r#"fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    println!("emulated:");
    let ended = std::process::Command::new(&words[0]).args(&words[1..]).status();
    assert!(ended.unwrap().success());
}"#;

/// A folder for one test, with the program.
struct Made {
    folder: PathBuf,
}

impl Made {
    fn new(name: &str, flags: &[&str]) -> Self {
        let process = std::process::id().to_string();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(process + name);
        fs::create_dir_all(&folder).expect("a folder");
        let made = Self { folder };
        made.compile("samovar", PROGRAM, flags);
        made
    }

    fn compile(&self, name: &str, source: &str, flags: &[&str]) {
        let file = format!("{name}.rs");
        fs::write(self.folder.join(&file), source).expect("a file");
        let mut rustc = Command::new("rustc");
        rustc.args(["-o", name, &file]).args(flags);
        let built = rustc.current_dir(&self.folder).status().expect("rustc");
        assert!(built.success());
    }

    fn dist(&self, out: &str) -> Output {
        self.dist_with(&["--out", out])
    }

    /// Programs of the folder are found before those of the machine.
    fn dist_with(&self, words: &[&str]) -> Output {
        let machines = std::env::var_os("PATH").expect("programs");
        let mut folders = vec![self.folder.clone()];
        folders.extend(std::env::split_paths(&machines));
        Command::new(env!("CARGO_BIN_EXE_samovar-xtask"))
            .args(["dist", "--binary", "samovar"])
            .args(words)
            .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
            .env("PATH", std::env::join_paths(folders).expect("folders"))
            .current_dir(&self.folder)
            .output()
            .expect("the binary under test was just built")
    }

    /// What a shell prints in the folder of what was made.
    fn shell(&self, script: &str) -> String {
        let mut shell = Command::new("sh");
        shell
            .args(["-euc", script])
            .current_dir(self.folder.join("out"));
        let output = shell.output().expect("a shell");
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).expect("the folder is ours");
    }
}

const STATIC: &[&str] = &["-C", "target-feature=+crt-static"];

// proves FC-11
#[test]
fn the_tarball_and_the_package_have_all_files_and_the_same_bytes_each_time() {
    let made = Made::new("dist", STATIC);
    let said = made.dist("out");
    assert!(said.status.success(), "{said:?}");
    let told = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        told.contains("list the three largest files here in Ok(\"/work\")"),
        "{told}"
    );

    let files: BTreeSet<String> = made.shell("ls").lines().map(str::to_owned).collect();
    let of = |end: &str| files.iter().find(|file| file.ends_with(end)).expect("made");
    let (tarball, package) = (of(".tar.gz"), of(".deb"));
    assert_eq!(files.len(), 4, "{files:?}");
    assert!(tarball.starts_with("samovar-1.2.3-") && package.starts_with("samovar_1.2.3_"));
    assert_eq!(
        made.shell("sha256sum --check SHA256SUMS").lines().count(),
        3
    );

    let listed = made.shell(&format!("tar tzvf {tarball} --owner=0"));
    let program = listed
        .lines()
        .find(|line| line.ends_with("/bin/samovar"))
        .expect("it");
    assert!(program.starts_with("-rwxr-xr-x 0/0 "), "{program}");
    for part in [
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "upgrade.md",
        "lib/systemd/system/samovar.service",
        "share/zsh/vendor-completions/_samovar",
    ] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let control = made.shell(&format!(
        "ar p {package} control.tar.gz | tar xzO ./control"
    ));
    assert!(control.contains("\nVersion: 1.2.3\n"), "{control}");
    assert_eq!(
        made.shell(&format!("ar p {package} debian-binary")),
        "2.0\n"
    );
    let data = made.shell(&format!("ar p {package} data.tar.gz | tar tz"));
    for part in ["./usr/bin/samovar", "./usr/share/doc/samovar/copyright"] {
        assert!(data.lines().any(|line| line == part), "{part}: {data}");
    }

    let before = made.shell("cat SHA256SUMS");
    assert!(made.dist("out").status.success());
    assert_eq!(made.shell("cat SHA256SUMS"), before);
}

// proves FC-11
#[test]
fn a_program_that_needs_a_library_of_the_machine_is_not_packed() {
    let made = Made::new("dynamic", &[]);

    let said = made.dist("out");

    assert!(!said.status.success());
    let told = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(told.contains("in an empty root: "), "{told}");
}

// proves FC-11
#[test]
#[cfg(target_arch = "x86_64")]
fn a_program_that_is_too_large_is_not_packed() {
    let made = Made::new("large", STATIC);
    for (size, is_packed) in [(62_000_000, true), (62_000_001, false)] {
        let program = fs::OpenOptions::new()
            .write(true)
            .open(made.folder.join("samovar"));
        program
            .and_then(|it| it.set_len(size))
            .expect("a larger file");
        let said = made.dist("out");
        let told = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(said.status.success(), is_packed, "{size}: {told}");
        let is_named = told.contains("62000001 bytes; what is packed may have 62000000");
        assert_eq!(is_named, !is_packed, "{told}");
    }
}

// proves FC-11
#[test]
fn a_program_for_another_kind_of_machine_is_tried_with_an_emulator_and_lies_beside_the_first() {
    let made = Made::new("foreign", STATIC);
    let machine = if cfg!(target_arch = "x86_64") {
        "aarch64"
    } else {
        "x86_64"
    };
    made.compile(&format!("qemu-{machine}-static"), EMULATOR, STATIC);
    assert!(made.dist("out").status.success());
    made.shell("echo older > samovar-1.2.2-x86_64-unknown-linux-gnu.tar.gz");

    let target = format!("{machine}-unknown-linux-gnu");
    let said = made.dist_with(&["--out", "out", "--target", &target]);

    let told = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success(), "{told}");
    assert!(
        told.contains("it says:\nemulated:\nsamovar 1.2.3"),
        "{told}"
    );
    let sums = made.shell("sha256sum --check SHA256SUMS");
    assert!(
        sums.contains(&format!("samovar-1.2.3-{target}.tar.gz: OK")),
        "{sums}"
    );
    assert_eq!(sums.lines().count(), 5, "{sums}");

    let refused = made.dist_with(&["--target", "riscv64gc-unknown-linux-gnu"]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        told.contains("Samovar does not run on riscv64gc-unknown-linux-gnu"),
        "{told}"
    );
}

fn packaged(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(name)).expect("a file of the tree")
}

// proves FC-11
#[test]
fn the_unit_keeps_what_the_sandbox_of_commands_needs_and_waits_for_turns() {
    let unit = packaged("packaging/samovar.service");
    let settings: Vec<_> = unit
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let value = |name: &str| {
        let found = settings.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| *value)
    };
    for needed in [
        "RestrictNamespaces",
        "ProtectProc",
        "ProcSubset",
        "ProtectKernelTunables",
        "ProtectKernelLogs",
        "SystemCallFilter",
        "MemoryDenyWriteExecute",
    ] {
        assert_eq!(value(needed), None, "{needed}");
    }
    for (name, wanted) in [
        ("NoNewPrivileges", "yes"),
        ("CapabilityBoundingSet", ""),
        ("ProtectSystem", "strict"),
        ("ProtectHome", "yes"),
        ("User", "samovar"),
    ] {
        assert_eq!(value(name), Some(wanted), "{name}");
    }
    let stop: u32 = value("TimeoutStopSec")
        .and_then(|it| it.parse().ok())
        .expect("a time");
    assert!(stop > 10, "server.drain_seconds");
}

// proves FC-11
#[test]
fn both_images_run_the_same_and_differ_only_in_where_the_program_comes_from() {
    let last_stage = |text: &str| {
        let stage = text
            .rsplit_once("\nFROM ")
            .expect("a last stage")
            .1
            .to_owned();
        let lines = stage.lines().filter(|line| !line.starts_with("COPY "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };

    let (here, there) = (packaged("Dockerfile"), packaged("packaging/Containerfile"));

    assert_eq!(last_stage(&here), last_stage(&there));
    assert!(there.contains("COPY --from=tarball "));
}
