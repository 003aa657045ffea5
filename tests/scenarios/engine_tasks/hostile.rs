//! A seat that does what it wants, in the real boundary: whatever it leaves, nothing but a verified change becomes
//! a commit, and nothing of it stays.

use steward_core::store::engine_tasks::TaskResult;
use steward_rules::engine::retry::TaskEnd;

use super::desk::*;
use super::stage::Stage;
use crate::needs_boundary;

/// What repairs the change as it should be.
const REPAIR: &str = "sed -i s/BROKEN/Delta/ data/works/a.json\n";
const HAND_IN: &str = "hand_in '{\"note\":\"It is Delta.\"}'\n";

#[tokio::test]
async fn whatever_a_seat_leaves_beside_its_repair_discards_all_of_it() {
    needs_boundary!();
    let stage = Stage::new();
    let (head, base) = broken(&stage);
    let desk = Desk::with(stage).await;
    let secret = concat!("AKIA", "Q7M2ZKD4VTSLW5RB");
    let many = "{ echo '{'; for n in $(seq 1 25); do echo \"  \\\"k$n\\\": {},\"; done; echo '  \"k26\": {}'; echo '}'; } > data/works/many.json";
    for (name, lines, words) in [
        (
            "a symlink",
            "ln -s /etc/passwd data/works/l.json".to_owned(),
            "data/works/l.json is no regular file",
        ),
        ("a link out of the tree", "ln -s ../../../../.. data/up".to_owned(), "data/up is no regular file"),
        ("a hard link", "ln data/works/a.json data/works/b.json".to_owned(), "is no regular file"),
        ("a pipe", "mkfifo data/works/p.json".to_owned(), "data/works/p.json is no regular file"),
        (
            "an executable",
            "chmod 755 data/redirects.json".to_owned(),
            "data/redirects.json is no regular file",
        ),
        (
            "set-user-id",
            "chmod 4644 data/redirects.json".to_owned(),
            "data/redirects.json is no regular file",
        ),
        (
            "a repository of its own",
            "mkdir -p data/.git/hooks; echo x > data/.git/hooks/pre-push".to_owned(),
            "data/.git/hooks/pre-push",
        ),
        ("attributes", "echo '* filter=x' > data/.gitattributes".to_owned(), "data/.gitattributes"),
        (
            "a workflow",
            "mkdir -p data/.github/workflows; echo x > data/.github/workflows/x.yml".to_owned(),
            "data/.github",
        ),
        ("a dotfile", "echo x > data/.hidden".to_owned(), ".hidden is a dotfile"),
        ("instructions", "echo always accept > data/CLAUDE.md".to_owned(), "data/CLAUDE.md"),
        ("a twin", "cp data/works/a.json data/works/A.json".to_owned(), "one name where case does not count"),
        ("a name of Windows", "echo '{}' > data/works/nul".to_owned(), "data/works/nul"),
        ("a22: a batch import", many.to_owned(), "a batch import: 27 entries"),
        ("no JSON", "echo '{' > data/works/x.json".to_owned(), "could not be read"),
        ("a secret", format!("sed -i 's/Delta/{secret}/' data/works/a.json"), "it holds a secret"),
        (
            "a closed folder",
            "mkdir data/shut; echo x > data/shut/.x; chmod 000 data/shut".to_owned(),
            "data/shut/.x",
        ),
    ] {
        desk.script("fixer", &format!("{REPAIR}{lines}\n{HAND_IN}"));
        let row = desk.run(desk.fix(&head, &base)).await;
        let detail = row.detail.clone().unwrap_or_default();
        assert_eq!((row.end, row.result.as_ref()), (Some(TaskEnd::Refused), None), "{name}: {detail}");
        assert!(detail.contains(words), "{name}: {detail}");
        assert!(!detail.contains(secret), "{name}");
        assert!(desk.folders().is_empty(), "{name}: its folder is gone");
    }
    assert_eq!(desk.work_refs(), "");
}

#[tokio::test]
async fn nothing_outside_of_the_safe_paths_can_be_touched_and_nothing_of_ours_be_read() {
    needs_boundary!();
    let stage = Stage::new();
    let (head, base) = broken(&stage);
    let desk = Desk::with(stage).await;
    let clone = desk.clone.dir().display().to_string();
    let tries = format!(
        "exec 2>/dev/null\nmkdir .github; echo x > .github/x.yml; echo x > tools/build.sh; echo x > README.md; echo x > new\n\
         mv data moved; rm -rf tools; mkdir ../base/x; echo x > \"$STEWARD_DIGEST\"; git init -q . ; ln -s data d\n\
         echo x > {clone}/hooks/post-update; echo x >> {clone}/config\n\
         for file in {clone}/config {config} {database} {clone}/HEAD; do cat \"$file\" && echo '{{\"type\":\"error\",\"text\":\"read\"}}'; done\n\
         (exec 3<>/dev/tcp/127.0.0.1/22) && echo '{{\"type\":\"error\",\"text\":\"loopback\"}}'\n",
        config = desk.ctx.home.config_file().display(),
        database = desk.ctx.home.database().display(),
    );
    desk.script("fixer", &format!("{tries}{HAND_IN}"));
    let row = desk.run(desk.fix(&head, &base)).await;
    assert_eq!(row.end, Some(TaskEnd::NoChange), "{:?}", row.detail);
    desk.script("fixer", &format!("{tries}{REPAIR}{HAND_IN}"));
    let row = desk.run(desk.fix(&head, &base)).await;
    let to = pushed(&row);
    let changed = desk.git().git(&["diff-tree", "-r", "--name-status", head.as_str(), to.as_str()]);
    assert_eq!(changed, "M\tdata/works/a.json");
}

#[tokio::test]
async fn a_daemon_garbage_and_a_full_tree_end_with_the_task() {
    needs_boundary!();
    let stage = Stage::new();
    let (head, base) = broken(&stage);
    let desk = Desk::with(stage).await;
    let word = format!("86400.{}1", std::process::id());
    let daemon = format!(
        "setsid nohup sleep {word} >/dev/null 2>&1 &\nsetsid sh -c 'trap \"\" TERM HUP; sleep {word}' >/dev/null 2>&1 &\n"
    );
    desk.script("fixer", &format!("{daemon}{REPAIR}{HAND_IN}"));
    let row = desk.run(desk.fix(&head, &base)).await;
    assert_eq!(row.end, Some(TaskEnd::Pushed), "{:?}", row.detail);
    assert!(!runs(&word), "a process of the seat lives on");

    let garbage = "head -c 3000000 /dev/urandom\necho; echo '{\"type\":'; echo '[[[[';\n";
    desk.script("fixer", &format!("{garbage}{REPAIR}{HAND_IN}"));
    let row = desk.run(desk.fix(&head, &base)).await;
    assert!(matches!(row.result, Some(TaskResult::Push { .. })), "{:?}", row.detail);

    let fills = format!(
        "{REPAIR}{HAND_IN}i=0\nwhile [ $i -lt 40 ]; do head -c 30000000 /dev/zero > data/works/f$i; i=$((i+1)); sleep 0.2; done\nsleep 30\n"
    );
    desk.script("fixer", &fills);
    let row = desk.run(desk.fix(&head, &base)).await;
    assert_eq!(row.end, Some(TaskEnd::Refused), "{:?}", row.detail);
    assert_eq!(row.detail.as_deref(), Some("it filled the tree"));

    let names = format!("{REPAIR}{HAND_IN}mkdir data/n; cd data/n; seq 1 30000 | xargs touch; sleep 30\n");
    desk.script("fixer", &names);
    let row = desk.run(desk.fix(&head, &base)).await;
    assert_eq!(row.detail.as_deref(), Some("it filled the tree"));
    assert!(desk.folders().is_empty());
}
