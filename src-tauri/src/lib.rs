//! The shell: the window, the tray and the notices around `steward-core`. It decides nothing about work.

mod host;
mod ipc;
mod links;
mod notices;
mod quit;
mod sign_in;
mod tray;
mod tray_host;
mod window;

use std::process::ExitCode;

use steward_core::home::Home;
use steward_core::telemetry;
use steward_rules::secret::Engine;
use tauri::RunEvent;
use tauri_plugin_deep_link::DeepLinkExt;

use host::Host;

/// Starts the app and returns when it has quit.
pub fn run() -> ExitCode {
    start_log();
    let app = tauri::Builder::default()
        // First, so that a second start ends before it opens anything.
        .plugin(single_instance())
        .plugin(tauri_plugin_deep_link::init())
        .plugin(tauri_plugin_window_state::Builder::default().build())
        .plugin(tauri_plugin_notification::init())
        .plugin(tauri_plugin_dialog::init())
        .plugin(tauri_plugin_clipboard_manager::init())
        .plugin(tauri_plugin_opener::Builder::default().open_js_links_on_click(false).build())
        .manage(Host::default())
        .manage(window::Waiting::default())
        .manage(quit::Quitting::default())
        .invoke_handler(tauri::generate_handler![
            ipc::call,
            ipc::copy_http_token,
            ipc::copy_text,
            ipc::open_external,
            ipc::pending_target,
            ipc::pick_folder,
            sign_in::sign_in
        ])
        .setup(|app| {
            set_up(app.handle())?;
            Ok(())
        })
        .build(tauri::generate_context!());
    let app = match app {
        Ok(app) => app,
        Err(error) => {
            eprintln!("steward-desktop: the window system did not start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = app.run_return(|app, event| match event {
        RunEvent::ExitRequested { api, code: None, .. } if !quit::is_quitting(app) => api.prevent_exit(),
        #[cfg(target_os = "macos")]
        RunEvent::Reopen { .. } => window::show(app),
        _ => {}
    });
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// Logs to the home's folder. An app that cannot log still runs.
fn start_log() {
    let Ok(home) = Home::from_env() else { return };
    let started = home
        .create()
        .map_err(|error| error.to_string())
        .and_then(|()| telemetry::start(home.logs(), scrub()).map_err(|error| error.to_string()));
    if let Err(error) = started {
        eprintln!("steward-desktop: nothing is logged: {error}");
    }
}

/// Takes out of a log line what the secret rules find in it.
fn scrub() -> telemetry::Scrub {
    telemetry::Scrub::new(|text| Engine::shared().redact(text))
}

fn set_up(app: &tauri::AppHandle) -> tauri::Result<()> {
    quit::on_signals(app);
    window::open(app)?;
    tray::build(app);
    notices::listen(app);
    let links = app.clone();
    app.deep_link().on_open_url(move |event| {
        if let Some(target) = event.urls().iter().find_map(|url| links::target_of_link(url.as_str())) {
            window::open_target(&links, target);
        }
    });
    if let Some(target) = links::target_of_words(std::env::args().skip(1)) {
        window::open_target(app, target);
    }
    let hosting = app.clone();
    tauri::async_runtime::spawn(async move { host::keep(hosting).await });
    Ok(())
}

/// One app per data folder and session: a second start shows the first.
fn single_instance() -> tauri::plugin::TauriPlugin<tauri::Wry> {
    tauri_plugin_single_instance::Builder::new()
        .dbus_id(instance_name())
        .callback(|app, words, _folder| match links::target_of_words(words.into_iter().skip(1)) {
            Some(target) => window::open_target(app, target),
            None => window::show(app),
        })
        .build()
}

/// The name of this app on the session's bus; homes that were set apart get apps of their own.
fn instance_name() -> String {
    const NAME: &str = "dev.steward.desktop";
    match (std::env::var_os("STEWARD_HOME"), Home::from_env()) {
        (Some(_), Ok(home)) => {
            let path = home.data_dir().to_string_lossy().into_owned();
            let mark = path.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |mark, byte| {
                (mark ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
            format!("{NAME}.h{mark:016x}")
        }
        _ => NAME.to_owned(),
    }
}
