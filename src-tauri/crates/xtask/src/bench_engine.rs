//! `cargo xtask bench engine`: what one tick over everything costs.

use anyhow::Result;

use crate::shell;

/// Measures, writes `benches/results/engine.json` and `docs/benchmarks-engine.md`.
pub fn run() -> Result<()> {
    // The goal leaves room for a build without optimisation, which is there from the tests.
    let words = ["bench", "--profile", "dev", "-p", "steward-core", "--bench", "engine"];
    shell::must(shell::cargo().args(words))
}
