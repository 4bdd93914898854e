//! Routes as a list, so that tests can compare it with the description.

use axum::Router;
use axum::routing::MethodRouter;

/// Paths with their handlers.
pub type Routes<S> = Vec<(&'static str, MethodRouter<S>)>;

/// A router of these routes. What is in brackets at the end of a path may be left out: `/status/{package}[/{version}]` is
/// two paths with the same handlers.
///
/// # Panics
/// Panics if two routes conflict, as axum's router does.
pub fn routed<S: Clone + Send + Sync + 'static>(routes: Routes<S>) -> Router<S> {
    let add = |router: Router<S>, (path, methods): (&str, MethodRouter<S>)| {
        let paths = paths_of(path).into_iter();
        paths.fold(router, |router, path| router.route(&path, methods.clone()))
    };
    routes.into_iter().fold(Router::new(), add)
}

/// The paths of an entry of [`Routes`]: one, or two if its end may be left out.
#[must_use]
pub fn paths_of(path: &str) -> Vec<String> {
    match path.strip_suffix(']').and_then(|path| path.split_once('[')) {
        Some((path, end)) => vec![path.to_owned(), format!("{path}{end}")],
        None => vec![path.to_owned()],
    }
}
