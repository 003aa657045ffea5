//! The engine's loop on real git and the GitHub double: what it remembers, reads, decides and wants.

mod asked;
mod base;
mod between;
mod crash;
mod issues;
mod kept;
mod kill;
mod ladder;
mod merging;
mod mixed;
mod news;
mod overtaken;
mod parked;
mod quiet;
mod race;
mod refused;
mod report;
mod retries;
mod seen;
mod stopped;
mod store;
mod supersede;
mod superseded;
mod told;
mod triaged;
mod tries;
mod verdicts;
mod waiting;
mod walled;
mod whole;

use chrono::Duration;
use steward_core::loops::effects::{Progress, Sending, powers as in_force};
use steward_core::loops::engine;
use steward_core::store::effects::{self, EffectRow};
use steward_core::store::engine_items::{self, ItemKind, ItemRow};
use steward_core::store::engine_tasks::{self, TaskRow};
use steward_core::store::inbox::{self, EntryRow, Kind, Shelf};
use steward_core::store::repositories::RepositoryId;
use steward_core::store::{Durability, ReadTx, StoreError};
use steward_github_double::{PullVerbs, RepoVerbs, World};
use steward_rules::ids::RepoName;
use steward_rules::power::EffectClass;
use tokio_util::sync::CancellationToken;

use crate::observer::Desk;

const REPO: &str = "octo/data";
const VERIFY: &str = ".github/workflows/ai-verify.yml";
const BOT: &str = "github-actions[bot]";
/// The token that a desk looks with.
const TOKEN: &str = "made-up-token-of-this-test";
/// Everything that the engine may do by itself.
const ACT: &str = "mode: act, act: [merge, rerun_check, retry_verdict, rebase, push_fix, open_pr, supersede, \
                   delete_branch, label, close_issue, comment_issue, report]";
/// What of the preset these tests change: two required checks are enough.
const CHECKS: &str = "requiredChecks: [check, verify], skippable: [check, verify]";
/// A validator that finds nothing wrong.
const VALIDATE: &str =
    "validate: {format: ['true'], check: ['true'], pin: any, timeoutSecs: 60, heavy: false}";

/// A catalogue with one work in it, watched by a maintainer whose engine is on.
struct Den {
    desk: Desk,
}

impl Den {
    /// With these powers, confirmed, and this policy over the preset's.
    async fn new(power: &str, policy: &str) -> Self {
        let world = World::start_at("2026-11-30T10:00:00Z".parse().unwrap());
        world.token("octo", TOKEN, &["repo", "workflow"]);
        world.bot(BOT);
        world.repo(REPO).push("main", "data: first", &[("data/works/a.json", "{\"a\": {\"v\": 1}}\n")]);
        let den = Self { desk: Desk::of(world, &[REPO]) };
        den.config(power, policy).await;
        den
    }

    /// Another config file, confirmed.
    async fn config(&self, power: &str, policy: &str) {
        std::fs::write(self.desk.home.config_file(), self.text(power, policy)).unwrap();
        let loaded = self.desk.ctx.config.reread();
        assert_eq!(loaded.problems, [], "the config file is whole");
        let waits = in_force::settle(&self.desk.ctx).await.unwrap();
        if let Some(change) = waits.change() {
            in_force::confirm(&self.desk.ctx, &change).await.unwrap();
        }
    }

    fn text(&self, power: &str, policy: &str) -> String {
        format!(
            "accounts: [{{host: \"{}\", login: octo}}]\nengine: {{enabled: true, interval: 10m}}\n\
             commit: {{name: Octo, email: octo@example.org}}\n\
             repositories:\n  - {{name: {REPO}, account: octo, preset: data-catalogue, {power}, policy: {{engine: {{{policy}}}}}}}\n",
            self.desk.host()
        )
    }

    fn app(&self) -> RepoVerbs<'_> {
        self.desk.world.repo(REPO)
    }

    /// A pull request of the intake that adds one work.
    fn intake(&self, issue: u64, work: &str) -> PullVerbs<'_> {
        let branch = format!("intake/issue-{issue}");
        let (path, text) = (format!("data/works/{work}.json"), format!("{{\"{work}\": {{\"v\": 1}}}}\n"));
        self.app().push(&branch, &format!("data: {work}"), &[(&path, &text)]);
        let pull = self.app().open_pull("maria", &branch, &format!("[intake] {work}"));
        pull.body(&format!("Adds {work}.\n\nCloses #{issue}\n")).label("data").label("bot-intake")
    }

    /// Everything at its head is well, and the verdict job says so.
    fn well(&self, pull: &PullVerbs<'_>) {
        let head = pull.head();
        self.app().check(&head, "check").succeeds();
        self.app().check(&head, "verify").workflow(VERIFY).succeeds();
        pull.label_by(BOT, "ai-verified");
    }

    /// Lets time pass, and judges what came due.
    async fn later(&self, time: Duration) {
        self.desk.pass(time);
        self.judge().await;
    }

    async fn judge(&self) {
        engine::pass(&self.desk.ctx, &CancellationToken::new()).await.unwrap();
        self.desk.pass(Duration::seconds(1));
    }

    /// One look of the observer after its interval, and the tick that follows.
    async fn tick(&self) {
        self.desk.tick().await;
        self.judge().await;
    }

    /// Takes every effect as far as it goes, writes as far apart as they must be.
    async fn send(&self) {
        for _ in 0..8 {
            let open = self.read(effects::to_do).await;
            if open.is_empty() {
                break;
            }
            for row in open {
                self.drive(row.id).await;
            }
            self.desk.pass(Duration::seconds(2));
        }
        self.desk.pass(Duration::seconds(1));
    }

    async fn drive(&self, id: i64) {
        let mut sending = Sending::new(id);
        let sent = async { while sending.step(&self.desk.ctx).await.unwrap() == (Progress::More {}) {} };
        // Two readings are not made at one moment.
        let clock = async {
            loop {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
                self.desk.pass(Duration::milliseconds(2));
            }
        };
        tokio::select! {
            () = sent => {}
            () = clock => {}
        }
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&ReadTx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        self.desk.ctx.store.read(read).await.unwrap()
    }

    async fn id(&self) -> RepositoryId {
        self.desk.repository(REPO).await.id
    }

    async fn item(&self, number: u64) -> ItemRow {
        self.kept(ItemKind::Pr, number).await.unwrap_or_else(|| panic!("#{number} is not followed"))
    }

    async fn kept(&self, kind: ItemKind, number: u64) -> Option<ItemRow> {
        let id = self.id().await;
        let found = self.read(move |tx| engine_items::get(tx, id, kind, number as i64)).await;
        found.map(|row| row.get().unwrap().clone())
    }

    /// Decision and sentence.
    async fn decided(&self, number: u64) -> (String, String) {
        let item = self.item(number).await;
        (item.decision, item.state)
    }

    async fn change_item(&self, number: u64, change: impl FnOnce(&mut ItemRow)) {
        let (id, mut item) = (self.id().await, self.item(number).await);
        change(&mut item);
        self.desk
            .ctx
            .store
            .write(Durability::Full, move |tx| engine_items::put(tx, id, &item))
            .await
            .unwrap();
    }

    async fn effects(&self, class: EffectClass) -> Vec<EffectRow> {
        let all = self.read(|tx| effects::page(tx, false, None, 200)).await;
        all.into_iter().rev().filter(|row| row.class == class).collect()
    }

    async fn tasks(&self, number: u64) -> Vec<TaskRow> {
        let id = self.id().await;
        self.read(move |tx| engine_tasks::of_item(tx, id, engine_tasks::ItemKind::Pr, number as i64)).await
    }

    async fn entries(&self, kind: Kind) -> Vec<EntryRow> {
        let open = self.read(|tx| inbox::page(tx, Shelf::Open, None, None, 100)).await;
        open.into_iter().filter(|entry| entry.kind == kind).collect()
    }

    /// What was written on GitHub, by operation.
    fn writes(&self) -> Vec<String> {
        let all = self.desk.world.exchanges().into_iter().map(|exchange| exchange.operation);
        let reads = |operation: &String| {
            operation.starts_with("GET ") || operation.contains("graphql") || operation == "git-upload-pack"
        };
        all.filter(|operation| !reads(operation)).collect()
    }
}

fn name() -> RepoName {
    RepoName::parse(REPO).unwrap()
}
