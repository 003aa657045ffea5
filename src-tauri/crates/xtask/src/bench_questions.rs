//! `cargo xtask bench questions`: what watching panes costs, and how well the corpus is judged.

use anyhow::Result;

use crate::shell;

/// Measures, writes `benches/results/questions.json` and `docs/benchmarks-questions.md`.
pub fn run() -> Result<()> {
    // Shares of a core are an upper bound without optimisation, and the build is there from the tests.
    let words = ["bench", "--profile", "dev", "-p", "steward-core", "--bench", "questions"];
    shell::must(shell::cargo().args(words))
}
