//! `trestle print-reference`: the page `docs/reference/cli.md`, generated from the commands and flags.

use crate::args::Cli;
use crate::exit::EXIT_CODES;
use crate::server_flags::ServerFlags;
use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Args as _, Command, CommandFactory as _};

const HEAD: &str = "# Command line

This page is printed by the program: `trestle print-reference > docs/reference/cli.md`. `trestle COMMAND --help` shows the same in a
terminal.
";

const SERVER_FLAGS: &str = "## Flags that name a server

Commands that talk to a running server take these flags. [Running](../operate/running.md#commands-that-ask-a-server) says more.
";

const SEE_SERVER_FLAGS: &str = "It also takes the [flags that name a server](#flags-that-name-a-server).";

/// The whole page.
pub(crate) fn page() -> String {
    let mut server = ServerFlags::augment_args(Command::new("server").disable_help_flag(true));
    server.build();
    let mut all = Cli::command();
    all.build();
    let mut parts = vec![
        HEAD.to_owned(),
        SERVER_FLAGS.to_owned(),
        table(server.get_arguments()),
        format!("## Exit codes\n\n```text\n{EXIT_CODES}\n```\n"),
    ];
    for command in visible(&all) {
        describe(command, &server, &mut parts);
    }
    parts.join("\n")
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
}

fn describe(command: &Command, server: &Command, parts: &mut Vec<String>) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    parts.push(format!("## {name}\n"));
    let about = command.get_long_about().or_else(|| command.get_about());
    parts.extend(about.map(|about| format!("{about}\n")));
    parts.push(format!("```text\n{}\n```\n", command.clone().render_usage()));
    let asks_server = server
        .get_arguments()
        .all(|flag| command.get_arguments().any(|own| is_same(own, flag)));
    let own: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| !asks_server || !server.get_arguments().any(|flag| is_same(arg, flag)))
        .filter(|arg| !arg.is_hide_set() && !is_everywhere(arg))
        .collect();
    if !own.is_empty() {
        parts.push(table(own));
    }
    if asks_server {
        parts.push(format!("{SEE_SERVER_FLAGS}\n"));
    }
    let after = command.get_after_help().filter(|_| !command.has_subcommands());
    parts.extend(after.map(|after| format!("{after}\n")));
    for inner in visible(command) {
        describe(inner, server, parts);
    }
}

/// `--help`, which every command has.
fn is_everywhere(arg: &Arg) -> bool {
    matches!(
        arg.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    )
}

fn is_same(one: &Arg, other: &Arg) -> bool {
    one.get_id() == other.get_id() && meaning(one) == meaning(other)
}

fn table<'a>(args: impl IntoIterator<Item = &'a Arg>) -> String {
    let rows = args
        .into_iter()
        .map(|arg| format!("| `{}` | {} |\n", typed(arg), meaning(arg)));
    format!("| | |\n|---|---|\n{}", rows.collect::<String>())
}

/// The syntax of an argument, with the names of its values.
fn typed(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let takes_values = arg.get_num_args().is_some_and(|count| count.takes_values());
    let values: Vec<&str> = names
        .iter()
        .filter(|_| takes_values)
        .map(|name| name.as_str())
        .collect();
    let flags = [
        arg.get_short().map(|short| format!("-{short}")),
        arg.get_long().map(|long| format!("--{long}")),
    ];
    let flags: Vec<String> = flags.into_iter().flatten().collect();
    [flags.join(", "), values.join(" ")].join(" ").trim().to_owned()
}

/// The description of an argument, with its values, its variable and its default, in one line of a table.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let mut parts = vec![help.map(StyledStr::to_string).unwrap_or_default()];
    let takes_values = arg.get_num_args().is_some_and(|count| count.takes_values());
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| takes_values && !value.is_hide_set())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({help})", value.get_name()),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if !values.is_empty() {
        parts.push(format!("— {}", values.join(", ")));
    }
    let variable = arg.get_env().map(|name| name.to_string_lossy().into_owned());
    parts.extend(variable.map(|name| format!("[variable: `{name}`]")));
    let defaults = arg.get_default_values().iter().filter(|_| takes_values);
    parts.extend(defaults.map(|value| format!("[default: `{}`]", value.to_string_lossy())));
    parts
        .join(" ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}
