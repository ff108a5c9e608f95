//! Runs one target. Built by `cargo fuzz` it makes inputs without end for the target that the
//! variable `SAMOVAR_FUZZ` names; otherwise it runs a target on files, to repeat a crash:
//! `cargo run --package samovar-fuzz -- TARGET FILE…`.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| samovar_fuzz::chosen()(data));

#[cfg(not(fuzzing))]
fn main() -> Result<(), String> {
    let mut words = std::env::args().skip(1);
    let name = words
        .next()
        .ok_or("give the name of a target, then files")?;
    let target = samovar_fuzz::target(&name)?;
    for file in words {
        let data = std::fs::read(&file).map_err(|cause| format!("{file}: {cause}"))?;
        target(&data);
    }
    Ok(())
}
