//! The limit of open files and connections.

use trestle_server::Settings;

/// Reserved for the data directory: a server that uses its last descriptor for a client cannot write its
/// tables.
const FOR_DATA: usize = 512;

/// Raises the limit of open files as far as possible, and limits connections accordingly.
pub(super) fn make_room(settings: &mut Settings) {
    if let Some(allowed) = raise_limit() {
        let room = allowed.saturating_sub(FOR_DATA).max(allowed / 2);
        settings.limits.connections_max = settings.limits.connections_max.min(room);
    }
}

/// The limit, if there is one.
#[cfg(unix)]
fn raise_limit() -> Option<usize> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let mut raised = limit;
    raised.current = limit.maximum;
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised.current,
        // Some systems report an unlimited value that no process can reach.
        Err(_) => limit.current,
    };
    allowed.and_then(|files| usize::try_from(files).ok())
}

#[cfg(not(unix))]
fn raise_limit() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_the_data() {
        let mut settings = Settings::default();
        make_room(&mut settings);
        let allowed = raise_limit().unwrap_or(usize::MAX);
        let taken = settings.limits.connections_max;
        assert!(taken > 0 && taken < allowed, "{taken} of {allowed}");
    }
}
