//! `cargo xtask bench observer`: what looking at GitHub costs, counted by the double.

use anyhow::Result;

use crate::shell;

/// Counts, writes `benches/results/observer.json` and `docs/benchmarks-observer.md`.
pub fn run() -> Result<()> {
    // Counts are the same without optimisation, and the build is there from the tests.
    let words = ["bench", "--profile", "dev", "-p", "steward-core", "--bench", "observer"];
    shell::must(shell::cargo().args(words))
}
