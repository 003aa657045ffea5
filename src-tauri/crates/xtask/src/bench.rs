//! `cargo xtask bench`: every measurement, written to one file. No part of CI.

use anyhow::{Result, bail};

/// One measurement: its name and what it runs.
type Bench = (&'static str, fn() -> Result<()>);

/// Each entry stands in its own `bench_….rs`.
const BENCHES: &[Bench] = &[
    ("secrets", crate::bench_secrets::run),
    ("observer", crate::bench_observer::run),
    ("engine", crate::bench_engine::run),
    ("questions", crate::bench_questions::run),
];

/// Runs all measurements, or those whose names are given.
pub fn bench(names: &[String]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| !BENCHES.iter().any(|(known, _)| known == name)) {
        let known: Vec<_> = BENCHES.iter().map(|(name, _)| *name).collect();
        bail!("no measurement is called {unknown}; there are: {}", known.join(", "));
    }
    for (name, measure) in BENCHES {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            println!("== {name}");
            measure()?;
        }
    }
    Ok(())
}
