//! The pictures of evidence frames: decoded once, kept as Steward's own PNG under their pixels' hash.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use image::{DynamicImage, ImageFormat, ImageReader, Limits};
use sha2::{Digest, Sha256};

use crate::home::Home;

/// A picture file longer than this is refused unread.
pub const MAX_BYTES: u64 = 20 * 1024 * 1024;
/// No side of a picture is longer.
pub const MAX_SIDE: u32 = 20_000;
/// No picture has more pixels.
pub const MAX_PIXELS: u64 = 32 * 1024 * 1024;

/// Why a picture was not kept or cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("frame: {path} cannot be read ({source}); check the path", path = path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("frame: {path} is not a regular file", path = path.display())]
    NotAFile { path: PathBuf },
    #[error("frame: the file has {bytes} bytes, the limit is {MAX_BYTES}; attach a smaller picture")]
    TooLong { bytes: u64 },
    #[error(
        "frame: the picture is {width}×{height}, the limits are {MAX_SIDE} a side and {MAX_PIXELS} pixels"
    )]
    TooLarge { width: u32, height: u32 },
    #[error("frame: the file is no readable PNG, JPEG or WebP picture ({why})")]
    NotAPicture { why: String },
    #[error("the frame's picture could not be kept in {path}: {source}", path = path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("the frame's picture is gone from {path}; attach it again", path = path.display())]
    Gone { path: PathBuf },
}

/// A kept picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Name under `frames/`.
    pub file: String,
    /// Hash of the decoded pixels: a re-encoded copy is the same picture.
    pub image_hash: String,
    pub pixels: (u32, u32),
}

/// Reads a picture, and keeps its pixels as a PNG of Steward's own, without anything else the file held.
pub fn keep(home: &Home, path: &Path) -> Result<Kept, FrameError> {
    let bytes = read_capped(path)?;
    let picture = decode(&bytes)?.into_rgba8();
    let pixels = picture.dimensions();
    let mut hash = Sha256::new();
    hash.update(pixels.0.to_le_bytes());
    hash.update(pixels.1.to_le_bytes());
    hash.update(picture.as_raw());
    let image_hash = hex::encode(hash.finalize());
    let file = format!("{image_hash}.png");
    let target = home.frames().join(&file);
    if !target.is_file() {
        let mut png = Cursor::new(Vec::new());
        DynamicImage::ImageRgba8(picture)
            .write_to(&mut png, ImageFormat::Png)
            .map_err(|error| FrameError::NotAPicture { why: error.to_string() })?;
        write_whole(&home.frames(), &target, png.get_ref())
            .map_err(|source| FrameError::Write { path: target.clone(), source })?;
    }
    Ok(Kept { file, image_hash, pixels })
}

/// The PNG of a kept picture.
pub fn picture(home: &Home, file: &str) -> Result<Vec<u8>, FrameError> {
    let path = home.frames().join(file);
    if !is_name(file) || !path.is_file() {
        return Err(FrameError::Gone { path });
    }
    read_capped(&path)
}

/// Removes kept pictures that no frame names any more.
pub fn forget(home: &Home, files: &[String]) {
    for file in files.iter().filter(|file| is_name(file)) {
        if let Err(error) = std::fs::remove_file(home.frames().join(file)) {
            tracing::debug!(file, %error, "the picture of a pruned frame is not removed");
        }
    }
}

/// True for the names this module gives: nothing else is opened under `frames/`.
fn is_name(file: &str) -> bool {
    file.strip_suffix(".png")
        .is_some_and(|hash| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn read_capped(path: &Path) -> Result<Vec<u8>, FrameError> {
    let read = |source| FrameError::Read { path: path.to_owned(), source };
    // Asked before opening: a pipe would wait for a writer.
    if !std::fs::metadata(path).map_err(read)?.is_file() {
        return Err(FrameError::NotAFile { path: path.to_owned() });
    }
    let file = std::fs::File::open(path).map_err(read)?;
    let bytes = file.metadata().map_err(read)?.len();
    if bytes > MAX_BYTES {
        return Err(FrameError::TooLong { bytes });
    }
    let mut content = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut content).map_err(read)?;
    if content.len() as u64 > MAX_BYTES {
        return Err(FrameError::TooLong { bytes: content.len() as u64 });
    }
    Ok(content)
}

fn decode(bytes: &[u8]) -> Result<DynamicImage, FrameError> {
    let not = |error: image::ImageError| FrameError::NotAPicture { why: error.to_string() };
    let reader = || {
        let mut reader = ImageReader::new(Cursor::new(bytes));
        let mut limits = Limits::default();
        limits.max_image_width = Some(MAX_SIDE);
        limits.max_image_height = Some(MAX_SIDE);
        limits.max_alloc = Some(MAX_PIXELS * 8);
        reader.limits(limits);
        reader.with_guessed_format().map_err(|error| FrameError::NotAPicture { why: error.to_string() })
    };
    // The size stands in the header: a bomb is refused before its pixels are unpacked.
    let (width, height) = reader()?.into_dimensions().map_err(not)?;
    if width > MAX_SIDE || height > MAX_SIDE || u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(FrameError::TooLarge { width, height });
    }
    reader()?.decode().map_err(not)
}

fn write_whole(folder: &Path, target: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let temporary = folder.join(format!(".{}-{count}.tmp", std::process::id()));
    let written = (|| {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, target)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}
