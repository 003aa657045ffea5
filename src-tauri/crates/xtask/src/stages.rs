//! The stages of a long command: each says its name and its time, and the end says what failed.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::tally::Tally;

/// How a stage ended that did not fail.
pub enum Step {
    Done,
    Skipped(String),
}

enum Outcome {
    Done,
    Skipped(String),
    Failed,
    NotRun(&'static str),
}

/// Runs stages in order and keeps what became of each.
pub struct Stages {
    started: Instant,
    ran: Vec<(&'static str, Outcome, Duration)>,
    pub tally: Tally,
}

impl Stages {
    pub fn new() -> Self {
        Self { started: Instant::now(), ran: Vec::new(), tally: Tally::default() }
    }

    /// Runs one stage. It is not run when a stage it stands on has not passed.
    pub fn stage(
        &mut self,
        name: &'static str,
        needs: &[&'static str],
        body: impl FnOnce(&mut Tally) -> Result<Step>,
    ) {
        if let Some(missing) = needs.iter().find(|need| !self.is_done(need)) {
            println!("\n== {name}\nnot run: {missing} did not pass");
            self.ran.push((name, Outcome::NotRun(missing), Duration::ZERO));
            return;
        }
        println!("\n== {name}");
        let started = Instant::now();
        let outcome = match body(&mut self.tally) {
            Ok(Step::Done) => Outcome::Done,
            Ok(Step::Skipped(reason)) => {
                println!("skipped: {reason}");
                Outcome::Skipped(reason)
            }
            Err(error) => {
                println!("{name} failed: {error:#}");
                Outcome::Failed
            }
        };
        let took = started.elapsed();
        println!("-- {name}: {:.1} s", took.as_secs_f64());
        self.ran.push((name, outcome, took));
    }

    fn is_done(&self, name: &str) -> bool {
        self.ran.iter().any(|(ran, outcome, _)| *ran == name && matches!(outcome, Outcome::Done))
    }

    /// Prints the table of stages and the count of tests; fails when anything did.
    pub fn close(self) -> Result<()> {
        println!("\n== stages");
        let mut bad = Vec::new();
        for (name, outcome, took) in &self.ran {
            let word = match outcome {
                Outcome::Done => "ok".to_owned(),
                Outcome::Skipped(reason) => format!("skipped: {reason}"),
                Outcome::Failed => "FAILED".to_owned(),
                Outcome::NotRun(need) => format!("not run: {need} did not pass"),
            };
            if matches!(outcome, Outcome::Failed | Outcome::NotRun(_)) {
                bad.push(*name);
            }
            println!("{name:<20} {:>7.1} s  {word}", took.as_secs_f64());
        }
        println!("{:<20} {:>7.1} s", "all", self.started.elapsed().as_secs_f64());
        // A stage that broke without a failed test still has to show in the last line.
        let failed = self.tally.failed.max(u32::try_from(bad.len()).unwrap_or(u32::MAX));
        let counts = format!("{} passed, {failed} failed", self.tally.passed);
        if bad.is_empty() {
            println!("{counts}");
            return Ok(());
        }
        println!("failed stages: {}\n{counts}", bad.join(", "));
        bail!("not green: {}", bad.join(", "))
    }
}
