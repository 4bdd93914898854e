//! Code that targets share: edits of bytes that were written by the program itself.

/// Changes of files or rows: which one, where, and the new bytes. They do not truncate it.
pub type Edits<'e> = Vec<(u16, u16, &'e [u8])>;

/// Makes the changes. Positions wrap around, so that every edit changes something.
pub fn damage(files: &mut [Vec<u8>], edits: &Edits<'_>) {
    for (which, at, bytes) in edits {
        let count = files.len().max(1);
        let Some(file) = files.get_mut(usize::from(*which) % count) else { return };
        let at = usize::from(*at) % (file.len() + 1);
        if bytes.is_empty() {
            file.truncate(at);
        }
        for (to, from) in file.iter_mut().skip(at).zip(*bytes) {
            *to = *from;
        }
    }
}
