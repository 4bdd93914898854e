//! Routes as a list, so that tests can hold it against the description.

use axum::Router;
use axum::routing::MethodRouter;

/// Paths, and what answers there.
pub type Routes<S> = Vec<(&'static str, MethodRouter<S>)>;

/// A router of these routes. What is in brackets at the end of a path may be left out: `/status/{package}[/{version}]` is
/// two paths with the same handlers.
///
/// # Panics
/// If two routes are in conflict, as axum's router does.
pub fn routed<S: Clone + Send + Sync + 'static>(routes: Routes<S>) -> Router<S> {
    let add = |router: Router<S>, (path, methods): (&str, MethodRouter<S>)| {
        let paths = paths_of(path).into_iter();
        paths.fold(router, |router, path| router.route(&path, methods.clone()))
    };
    routes.into_iter().fold(Router::new(), add)
}

/// The paths that a path of [`Routes`] stands for: one, or two if its end may be left out.
#[must_use]
pub fn paths_of(path: &str) -> Vec<String> {
    match path.strip_suffix(']').and_then(|path| path.split_once('[')) {
        Some((path, end)) => vec![path.to_owned(), format!("{path}{end}")],
        None => vec![path.to_owned()],
    }
}
