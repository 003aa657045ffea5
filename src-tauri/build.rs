//! Names the commands of the window, so that each needs its own permission.

fn main() {
    const COMMANDS: &[&str] = &[
        "call",
        "copy_http_token",
        "copy_text",
        "open_external",
        "pending_target",
        "pick_folder",
        "sign_in",
    ];
    let attributes =
        tauri_build::Attributes::new().app_manifest(tauri_build::AppManifest::new().commands(COMMANDS));
    if let Err(error) = tauri_build::try_build(attributes) {
        println!("cargo:error=tauri: {error:#}");
    }
}
