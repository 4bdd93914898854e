//! The kept part of a program's output. The rest is read, too, so that the program never waits for a reader.

use tokio::io::{AsyncRead, AsyncReadExt};

const PIECE_BYTES: usize = 8 * 1024;

/// The beginning of an output.
pub(super) async fn beginning(output: Option<impl AsyncRead + Unpin>, bytes_max: usize) -> Vec<u8> {
    let mut kept = Vec::new();
    read(output, |piece| {
        let room = bytes_max - kept.len();
        kept.extend_from_slice(piece.get(..room).unwrap_or(piece));
    })
    .await;
    kept
}

/// The end of an output.
pub(super) async fn end(output: Option<impl AsyncRead + Unpin>, bytes_max: usize) -> Vec<u8> {
    let mut kept = Vec::new();
    read(output, |piece| {
        kept.extend_from_slice(piece);
        let excess = kept.len().saturating_sub(bytes_max);
        kept.drain(..excess);
    })
    .await;
    kept
}

async fn read(output: Option<impl AsyncRead + Unpin>, mut take: impl FnMut(&[u8])) {
    let Some(mut output) = output else { return };
    let mut piece = vec![0; PIECE_BYTES];
    while let Ok(count @ 1..) = output.read(&mut piece).await {
        take(piece.get(..count).unwrap_or_default());
    }
}

/// The last line that is not empty.
pub(super) fn last_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.map(str::to_owned)
}
