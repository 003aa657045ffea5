//! Notifications of `steward serve`: through the desktop's own service, or a line on the terminal.

use std::process::{Command, Stdio};

use steward_core::loops::supervisor::NoticeSink;
use steward_core::store::notices::NoticeRow;

/// Shows notices on the desktop; a click starts the app on exactly that card.
pub struct Desktop {
    app: Option<std::path::PathBuf>,
}

impl Desktop {
    pub fn new() -> Self {
        let app = std::env::current_exe()
            .ok()
            .and_then(|exe| Some(exe.parent()?.join("steward-desktop")))
            .filter(|path| path.is_file());
        Self { app }
    }
}

impl NoticeSink for Desktop {
    fn show(&self, notice: &NoticeRow) -> Result<(), String> {
        eprintln!(
            "{}: {} (steward show {})",
            notice.title,
            notice.body,
            notice.target.trim_start_matches("review/")
        );
        // A terminal is a desktop too: without a notification service the line above is the notice.
        let shown = notify_rust::Notification::new()
            .appname("Steward")
            .summary(&notice.title)
            .body(&notice.body)
            .action("default", "Open")
            .show();
        if let (Ok(handle), Some(app)) = (shown, self.app.clone()) {
            let link = format!("steward://{}", notice.target);
            std::thread::spawn(move || {
                handle.wait_for_action(|action| {
                    if action != "__closed" {
                        let _ = Command::new(app)
                            .arg(link)
                            .stdin(Stdio::null())
                            .stdout(Stdio::null())
                            .stderr(Stdio::null())
                            .spawn();
                    }
                });
            });
        }
        Ok(())
    }
}
