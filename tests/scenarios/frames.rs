//! What is attached to a task: frames, handoffs, verdicts and contracts, kept or refused by field.

use std::io::Cursor;
use std::path::PathBuf;

use image::{DynamicImage, ImageFormat, Rgba, RgbaImage};
use steward_core::frames;
use steward_core::loops::task::documents::{self, FrameDocument};
use steward_core::loops::task::{self, TaskError};
use steward_core::store::attached;
use steward_core::store::tasks::RunState;
use steward_rules::ids::{FrameId, TaskId};

use crate::desk::Desk;

fn picture(width: u32, shade: u8, format: ImageFormat) -> Vec<u8> {
    let image = RgbaImage::from_pixel(width, 4, Rgba([shade, shade, shade, 255]));
    let mut bytes = Cursor::new(Vec::new());
    let image = match format {
        ImageFormat::Jpeg => DynamicImage::ImageRgb8(DynamicImage::ImageRgba8(image).into_rgb8()),
        _ => DynamicImage::ImageRgba8(image),
    };
    image.write_to(&mut bytes, format).expect("encoded");
    bytes.into_inner()
}

fn put(desk: &Desk, name: &str, bytes: &[u8]) -> PathBuf {
    let path = desk.root.join(name);
    std::fs::write(&path, bytes).expect("written");
    path
}

fn document(width: u32, theme: &str) -> FrameDocument {
    FrameDocument { width, theme: theme.to_owned(), scale: 1, route: None }
}

/// Attaches a picture of its own for one width and theme.
pub async fn attach(
    desk: &Desk,
    task: TaskId,
    width: u32,
    theme: &str,
    shade: u8,
) -> Result<FrameId, TaskError> {
    let path = put(desk, "shot.png", &picture(width, shade, ImageFormat::Png));
    task::attach_frame(&desk.ctx, task, &path, document(width, theme)).await
}

#[tokio::test]
async fn a_frame_is_stamped_with_the_head_and_a_dirty_worktree_makes_it_not_clean() {
    let desk = Desk::new();
    let task = desk.task().await;
    let clean = attach(&desk, task, 390, "dark", 1).await.expect("attached");
    desk.repo.write("src/lib.rs", b"changed\n");
    let dirty = attach(&desk, task, 390, "light", 2).await.expect("attached");
    let rows = desk.ctx.store.read(move |tx| attached::frames(tx, task)).await.expect("read");
    let of = |id| &rows.iter().find(|row| row.frame.id == id).expect("kept").frame;
    assert_eq!((of(clean).sha.to_string(), of(clean).clean), (desk.repo.head(), true));
    assert_eq!((of(dirty).clean, of(dirty).pixels), (false, Some((390, 4))));
}

#[tokio::test]
async fn a_frame_shows_the_linked_worktree_its_branch_stands_in() {
    let desk = Desk::new();
    desk.repo.checkout("main");
    let linked = desk.root.join("linked");
    desk.repo.git(&["worktree", "add", "--quiet", &linked.to_string_lossy(), "fix"]);
    let task = desk.task().await;
    let id = attach(&desk, task, 390, "dark", 1).await.expect("attached");
    let row = desk.ctx.store.read(move |tx| attached::frame(tx, id)).await.expect("read").expect("kept");
    assert_eq!(row.frame.sha.to_string(), desk.repo.sha("fix"), "not the HEAD of main");
}

#[tokio::test]
async fn a_re_encoded_copy_is_the_same_picture_and_kept_once_as_our_own_png() {
    let desk = Desk::new();
    let png = frames::keep(&desk.home, &put(&desk, "a", &picture(20, 9, ImageFormat::Png))).expect("kept");
    let webp = frames::keep(&desk.home, &put(&desk, "b", &picture(20, 9, ImageFormat::WebP))).expect("kept");
    let other = frames::keep(&desk.home, &put(&desk, "c", &picture(20, 10, ImageFormat::Png))).expect("kept");
    assert_eq!(png, webp);
    assert_ne!(png.image_hash, other.image_hash);
    assert_eq!(std::fs::read_dir(desk.home.frames()).expect("listed").count(), 2);
    let mut trailing = picture(20, 9, ImageFormat::Png);
    trailing.extend_from_slice(b"hidden behind the picture");
    frames::keep(&desk.home, &put(&desk, "d", &trailing)).expect("kept");
    let kept = frames::picture(&desk.home, &png.file).expect("read");
    assert!(!kept.windows(6).any(|part| part == b"hidden"), "only pixels are kept");
}

#[tokio::test]
async fn what_is_no_picture_is_refused_and_named() {
    let desk = Desk::new();
    let fifo = desk.root.join("pipe");
    let status = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
    assert!(status.success());
    // 16384 × 16384 in a few bytes: refused from its header.
    let bomb = {
        let mut bytes = picture(1, 1, ImageFormat::Png);
        bytes[16..20].copy_from_slice(&16_384_u32.to_be_bytes());
        bytes[20..24].copy_from_slice(&16_384_u32.to_be_bytes());
        let crc = crc32(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&crc.to_be_bytes());
        bytes
    };
    let long = put(&desk, "long", b"");
    std::fs::File::options()
        .write(true)
        .open(&long)
        .expect("open")
        .set_len(frames::MAX_BYTES + 1)
        .expect("sparse");
    for (path, words) in [
        (put(&desk, "text", b"ssh-ed25519 AAAA not a picture"), "no readable"),
        (put(&desk, "cut", &picture(50, 3, ImageFormat::Png)[..40]), "no readable"),
        (put(&desk, "bomb", &bomb), "16384"),
        (long, "limit"),
        (fifo, "not a regular file"),
        (desk.root.clone(), "not a regular file"),
        (desk.root.join("absent"), "cannot be read"),
    ] {
        let error = frames::keep(&desk.home, &path).expect_err("refused").to_string();
        assert!(error.starts_with("frame: ") && error.contains(words), "{}: {error}", path.display());
    }
    assert!(
        !desk.home.frames().exists() || std::fs::read_dir(desk.home.frames()).expect("read").count() == 0
    );
    for name in ["../steward.db", "/etc/passwd", "x.png", ""] {
        assert!(frames::picture(&desk.home, name).is_err(), "{name}");
    }
}

/// The checksum of PNG chunks, written out so that the bomb's header is valid.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 },
        )
    })
}

#[test]
fn a_document_that_does_not_fit_is_refused_with_its_field() {
    let many =
        format!(r#"{{"peer":"a","status":"done","claims":{{"tests":[{}]}}}}"#, vec!["\"t\""; 1001].join(","));
    let sha = "a".repeat(40);
    let cases: Vec<(&str, String, &str)> = vec![
        ("handoff", r#"{"status":"done"}"#.into(), "peer: "),
        ("handoff", r#"{"peer":"a","status":"finished"}"#.into(), "status: "),
        ("handoff", r#"{"peer":"a","status":"done","extra":1}"#.into(), "extra: "),
        (
            "handoff",
            r#"{"peer":"a","status":"done","claims":{"commits":["HEAD"]}}"#.into(),
            "claims.commits[0]: ",
        ),
        ("handoff", r#"{"peer":"a","status":"done","claims":{"commits":[7]}}"#.into(), "claims.commits[0]: "),
        (
            "handoff",
            r#"{"peer":"a","status":"done","claims":{"files":["../x"]}}"#.into(),
            "claims.files[0]: ",
        ),
        ("handoff", r#"{"peer":"a","status":"done","claims":{"pr":0}}"#.into(), "claims.pr: "),
        ("handoff", many, "claims.tests: "),
        ("handoff", r#"{"peer":" ","status":"done"}"#.into(), "peer: "),
        ("handoff", r#"{"peer":"a","peer":"b","status":"done"}"#.into(), "peer: "),
        ("handoff", "{\"peer\":".into(), "line 1, column "),
        ("handoff", format!(r#"{{"peer":"a","status":"done","note":"{}"}}"#, "n".repeat(4001)), "note: "),
        ("handoff", format!(r#"{{"peer":"a","note":"{}"}}"#, "n".repeat(300_000)), "the document has "),
        (
            "validator",
            format!(r#"{{"contractVersion":0,"sha":"{sha}","verdict":"pass"}}"#),
            "contractVersion: ",
        ),
        (
            "validator",
            format!(r#"{{"contractVersion":1,"sha":"{}","verdict":"pass"}}"#, sha.to_uppercase()),
            "sha: ",
        ),
        (
            "validator",
            format!(
                r#"{{"contractVersion":1,"sha":"{sha}","verdict":"pass","mutations":{{"sha":"{sha}","paths":[{{"path":"a","blob":"x"}}]}}}}"#
            ),
            "mutations.paths[0].blob: ",
        ),
        ("contract", "writeScope: [\"src/**\"]\n".into(), "mutations: "),
        ("contract", "writeScope: [\"a[\"]\nmutations: none\n".into(), "writeScope[0]: "),
        ("contract", "writeScope: [\"**/**/**/**/**/x\"]\nmutations: none\n".into(), "writeScope[0]: "),
        ("contract", "writeScope: src\nmutations: none\n".into(), "writeScope: "),
        ("contract", "writeScope: []\nmutations: none\nmutations: none\n".into(), "line 3"),
        ("contract", "a: &a [*a]\n".into(), "line 1"),
    ];
    for (kind, text, start) in cases {
        let error = match kind {
            "handoff" => documents::handoff(&text).map(drop),
            "validator" => documents::validator(&text).map(drop),
            _ => documents::contract(&text).map(drop),
        };
        let words = error.expect_err(&text).to_string();
        assert!(words.starts_with(start), "{kind}: {}: {words}", &text[..text.len().min(120)]);
    }
}

#[tokio::test]
async fn a_contract_changes_by_versions_and_the_same_one_is_no_new_version() {
    let desk = Desk::new();
    let task = desk.task().await;
    let text = "writeScope: [\"src/**\"]\nchecks: [\"cargo test\"]\nmutations: required\n";
    assert_eq!(task::attach_contract(&desk.ctx, task, text).await.expect("kept").version, 1);
    assert_eq!(task::attach_contract(&desk.ctx, task, text).await.expect("kept").version, 1);
    let json = r#"{"writeScope":[],"mutations":"none"}"#;
    assert_eq!(task::attach_contract(&desk.ctx, task, json).await.expect("kept").version, 2);
    let head = desk.repo.head();
    let verdict =
        |version: u32| format!(r#"{{"contractVersion":{version},"sha":"{head}","verdict":"pass"}}"#);
    task::attach_validator(&desk.ctx, task, &verdict(1)).await.expect("of an older version");
    let error = task::attach_validator(&desk.ctx, task, &verdict(3)).await.expect_err("of none");
    assert_eq!(error.to_string(), "contractVersion: the newest version is 2");
}

#[tokio::test]
async fn a_task_keeps_its_number_its_first_fork_point_and_the_head_that_git_shows() {
    let desk = Desk::new();
    let base = desk.repo.sha("main");
    let id = desk.task().await;
    let task = task::get(&desk.ctx, id).await.expect("read");
    assert_eq!(task.head.map(|sha| sha.to_string()), Some(desk.repo.head()));
    assert_eq!(task.fork_point.as_ref().map(ToString::to_string), Some(base.clone()));
    assert_eq!(desk.task().await, id, "one task per branch");
    desk.repo.checkout("main");
    desk.repo.commit("later", &[("x", Some(b"x\n"))]);
    desk.repo.checkout("fix");
    desk.repo.merge("main");
    let task = task::finish(&desk.ctx, id, RunState::Done).await.expect("finished");
    assert_eq!(task.head.map(|sha| sha.to_string()), Some(desk.repo.head()));
    assert_eq!((task.state, task.fork_point.map(|sha| sha.to_string())), (RunState::Done, Some(base)));
    desk.repo.checkout("main");
    desk.repo.git(&["branch", "--quiet", "-D", "fix"]);
    let gone = task::refresh(&desk.ctx, id).await.expect("read");
    assert!(gone.head.is_some() && gone.unreadable.is_some_and(|why| why.starts_with("the branch is gone")));
}

#[test]
fn the_schemas_of_the_documents_are_those_in_docs() {
    let folder = steward_kit::binary::workspace_root().join("docs/schemas");
    std::fs::create_dir_all(&folder).expect("the folder");
    for (name, text) in documents::schemas() {
        let path = folder.join(name);
        if std::env::var_os("STEWARD_GENERATE").is_some() {
            std::fs::write(&path, &text).expect("written");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == text, "{} is not what the types say; run with STEWARD_GENERATE=1", path.display());
    }
}
