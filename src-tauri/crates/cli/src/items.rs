//! `steward items` and `steward why`.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::requests::{ItemBy, ItemList, Simulate};
use steward_core::api::views::{ItemEnd, ItemKind, ItemPage, ItemView, SimulationView, StepState, WhyView};
use steward_core::api::{Api, engine, tries};
use steward_rules::ids::PullRef;

use crate::output::{Output, Tone};
use crate::table::Table;
use crate::tasks::age;

#[derive(Debug, Subcommand)]
pub enum ItemsCommand {
    /// Let the runtime read it whole and try it now, whatever stood in the way.
    Try {
        /// `owner/name#12`.
        #[arg(value_name = "OWNER/REPO#N")]
        item: String,
    },
    /// Take the call for a try back, while no tick has taken it up.
    Undo {
        /// `owner/name#12`.
        #[arg(value_name = "OWNER/REPO#N")]
        item: String,
    },
}

#[derive(Debug, Args)]
pub struct WhyArgs {
    /// `owner/name#12`; with `--simulate` the repository is enough.
    #[arg(value_name = "OWNER/REPO#N")]
    pub item: String,
    /// Judge the readings of the last 30 days by the policy of this edited config file, and show what would
    /// differ.
    #[arg(long, value_name = "FILE")]
    pub simulate: Option<PathBuf>,
}

pub async fn items(
    api: &Api,
    repository: Option<String>,
    command: Option<ItemsCommand>,
    out: &Output,
) -> Result<(), ApiError> {
    match command {
        Some(ItemsCommand::Try { item }) => {
            let tried = tries::now(api, ItemBy { item }).await?;
            out.answer(&tried, |item| format!("{} is tried at the next tick", called(item)));
        }
        Some(ItemsCommand::Undo { item }) => {
            let left = tries::take_back(api, ItemBy { item }).await?;
            out.answer(&left, |item| format!("{} is not tried before its time", called(item)));
        }
        None => {
            let page = engine::items(api, ItemList { repository }).await?;
            out.answer(&page, |page| render(page, api.now(), out));
        }
    }
    Ok(())
}

pub async fn why(api: &Api, args: WhyArgs, out: &Output) -> Result<(), ApiError> {
    match args.simulate {
        None => {
            let found = engine::why(api, ItemBy { item: args.item }).await?;
            out.answer(&found, |found| render_why(found, api.now(), out));
        }
        Some(file) => {
            let bad = |message: String| ApiError::new(ErrorCode::BadRequest, message);
            let name = match PullRef::parse(&args.item) {
                Some(pull) => pull.repo.to_string(),
                None => args.item.clone(),
            };
            let config = std::fs::read_to_string(&file)
                .map_err(|error| bad(format!("{}: {error}", file.display())))?;
            let found = engine::simulate(api, Simulate { repository: name, config }).await?;
            out.answer(&found, render_simulation);
        }
    }
    Ok(())
}

fn called(item: &ItemView) -> String {
    format!("{}#{}", item.repository, item.number)
}

fn render(page: &ItemPage, now: DateTime<Utc>, out: &Output) -> String {
    if page.items.is_empty() {
        return "The engine follows nothing. It follows what is open in watched repositories while engine.enabled is true"
            .to_owned();
    }
    let mut table = Table::new(&["item", "kind", "class", "decision", "attempts", "judged", "why"]);
    for item in &page.items {
        let kind = match item.kind {
            ItemKind::Pull => "pull",
            ItemKind::Issue => "issue",
        };
        let decision = match item.stuck {
            true => out.paint(Tone::Bad, "stuck"),
            false => item.decision.clone(),
        };
        table.row([
            called(item),
            kind.to_owned(),
            item.class.clone(),
            decision,
            item.attempts.to_string(),
            age(now, item.judged_at),
            item.message.clone(),
        ]);
    }
    table.render()
}

fn render_why(found: &WhyView, now: DateTime<Utc>, out: &Output) -> String {
    let item = &found.item;
    let mut head = Table::bare();
    head.row(["item".to_owned(), out.paint(Tone::Bold, &format!("{} {}", called(item), item.title))]);
    head.row(["class".to_owned(), format!("{}: {}", item.class, item.class_reason)]);
    head.row(["decision".to_owned(), format!("{}: {}", item.decision, item.message)]);
    if let Some(commit) = &item.head {
        head.row(["head".to_owned(), commit.clone()]);
    }
    if let Some(ended) = item.ended {
        let word = match ended {
            ItemEnd::Merged => "merged",
            ItemEnd::Closed => "closed",
        };
        head.row(["ended".to_owned(), word.to_owned()]);
    }
    if item.stuck {
        head.row([
            out.paint(Tone::Bad, "stuck"),
            "it waits for a person, or for `steward items try`".to_owned(),
        ]);
    }
    if item.attempts > 0 || item.next_attempt_at.is_some() {
        let next = item.next_attempt_at.map(|at| format!(", next not before {}", moment(at)));
        head.row(["attempts".to_owned(), format!("{}{}", item.attempts, next.unwrap_or_default())]);
    }
    if let Some(asked) = item.asked_at {
        head.row(["try".to_owned(), format!("asked for {}, the next tick takes it up", age(now, asked))]);
    }
    let read = found.read_at.map_or_else(|| "never".to_owned(), |at| age(now, at));
    head.row(["read whole".to_owned(), read]);
    if let Some(why) = &found.unread {
        head.row(["the reading".to_owned(), format!("cannot be used: {why}; the next look reads it anew")]);
    }
    if let Some(evidence) = &item.evidence {
        head.row(["last evidence".to_owned(), evidence.lines().last().unwrap_or_default().to_owned()]);
    }
    let mut text = head.render();
    if found.steps.is_empty() {
        return text;
    }
    let mut table = Table::new(&["condition", "state", "why", "not before", "evidence"]);
    for step in &found.steps {
        let state = match step.state {
            StepState::Met => out.paint(Tone::Good, "met"),
            StepState::Unmet => out.paint(Tone::Bad, "unmet"),
            StepState::NotJudged => out.paint(Tone::Dim, "not judged"),
        };
        let evidence: Vec<String> = step
            .evidence
            .iter()
            .map(|shown| {
                let at = shown.at.map(|at| format!(" at {}", moment(at)));
                format!("{}: {}{}", shown.name, shown.value, at.unwrap_or_default())
            })
            .collect();
        table.row([
            step.step.clone(),
            state,
            step.message.clone().unwrap_or_default(),
            step.not_before.map(moment).unwrap_or_default(),
            evidence.join("; "),
        ]);
    }
    text.push('\n');
    text.push_str(&table.render());
    text
}

fn moment(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

fn render_simulation(found: &SimulationView) -> String {
    let since = found.from.format("%Y-%m-%d");
    let all = format!(
        "{} readings of {} since {since}, {} decided otherwise\n",
        found.judged,
        found.repository,
        found.differences.len()
    );
    if found.differences.is_empty() {
        return all;
    }
    let mut table = Table::new(&["pull", "read at", "head", "now", "then", "why"]);
    for one in &found.differences {
        table.row([
            format!("#{} {}", one.number, one.title),
            one.at.format("%Y-%m-%d %H:%M UTC").to_string(),
            one.head.chars().take(7).collect(),
            one.before.clone(),
            one.after.clone(),
            one.after_message.clone(),
        ]);
    }
    format!("{all}\n{}", table.render())
}
