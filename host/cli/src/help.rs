//! Help that fits a screen, completions for shells, and manual pages.

use std::{
    any::TypeId,
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;

use super::{Arguments, failure::Failure, terminal};
use warpsmith::io::files::FileError;

/// Headings of options that only the whole help shows: several commands share them.
const SHARED: [&str; 3] = ["Tables", "Time", "Barcodes"];

/// Maximum width of help: that of a terminal of unknown width.
const WIDTH: usize = 80;

/// Returns the program's command. `--help` of a subcommand fits a screen, and `warpsmith help SUBCOMMAND` has all.
pub fn command() -> Command {
    brief(Arguments::command().max_term_width(WIDTH), &[], "")
}

/// Breaks examples wider than help: commands go on behind a backslash, and explanations get a line of their own.
fn fitted(text: &str) -> String {
    let fit = |line: &str| {
        let Some(example) = line.strip_prefix("  ").filter(|_| line.chars().count() > WIDTH) else { return line.to_owned() };
        let (command, meaning) = example.split_once("  ").unwrap_or((example, ""));
        let (mut fitted, mut column) = (String::from(" "), 1);
        // Options stay together with their values.
        for (index, part) in command.split(" -").enumerate() {
            let blank = if index == 0 { " " } else { " -" };
            if index > 0 && column + blank.len() + part.len() + " \\".len() > WIDTH {
                fitted.push_str(" \\\n     ");
                column = 5;
            }
            fitted.extend([blank, part]);
            column += blank.len() + part.len();
        }
        if meaning.is_empty() { fitted } else { fitted + "\n      " + meaning.trim_start() }
    };
    text.lines().map(fit).collect::<Vec<_>>().join("\n")
}

/// Leaves examples and the subcommand's own options in the short help. Examples of a subcommand without its own are those
/// among `above`.
fn brief(command: Command, path: &[&str], above: &str) -> Command {
    let is_of_this = |line: &&str| line.trim_start().starts_with(&format!("warpsmith {} ", path.join(" ")));
    let whole = match command.get_after_help() {
        Some(whole) => whole.to_string(),
        None => format!("Examples:\n{}", above.lines().filter(is_of_this).collect::<Vec<_>>().join("\n")),
    };
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let mut command = command.mut_args(|arg| {
        // Negative numbers reach the option's parser, which refuses them and names the option.
        let takes_numbers = arg.get_long().is_some()
            && arg.get_action().takes_values()
            && arg.get_value_parser().type_id() != TypeId::of::<PathBuf>();
        let arg = if takes_numbers { arg.allow_negative_numbers(true) } else { arg };
        match (arg.get_id().as_str(), arg.get_help_heading()) {
            (_, Some(heading)) if SHARED.contains(&heading) => arg.hide_short_help(true),
            ("output", _) if arg.get_long().is_some() => arg.short('o'),
            _ => arg,
        }
    });
    let mut short = whole.clone();
    if !path.is_empty() {
        let examples = whole.split("\n\n").next().unwrap_or_default();
        let is_shared = |arg: &clap::Arg| arg.get_help_heading().is_some_and(|heading| SHARED.contains(&heading));
        let shared = if command.get_arguments().any(is_shared) { ", with the options of tables and times" } else { "" };
        short =
            format!("{examples}\n\nMore{shared}: warpsmith help {}\nOptions of all commands: warpsmith --help", path.join(" "));
    }
    command = command.after_help(fitted(&short)).after_long_help(fitted(&whole));
    for name in &names {
        command = command.mut_subcommand(name, |command| brief(command, &[path, &[name]].concat(), &whole));
    }
    command
}

#[derive(Args, Debug)]
#[command(
    about = "Print completions for a shell",
    after_help = "Examples:\n  \
        warpsmith completions bash >> ~/.bash_completion        read by bash-completion\n  \
        warpsmith completions zsh > ~/.zfunc/_warpsmith         with ~/.zfunc in fpath"
)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints completions.
pub fn completions(arguments: &Completions) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), "warpsmith", &mut text);
    let mut stdout = io::stdout().lock();
    stdout.write_all(&text).and_then(|()| stdout.flush()).map_err(|error| terminal::unprinted(&error))
}

#[derive(Args, Debug)]
#[command(
    about = "Write the manual pages of all commands into a folder",
    after_help = "Examples:\n  \
        warpsmith manual ~/.local/share/man/man1        man warpsmith-pcf-pdist then shows one"
)]
pub struct Manual {
    /// The folder, which is made if it doesn't exist
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Writes the manual pages.
pub fn manual(arguments: &Manual) -> Result<(), Failure> {
    let folder = &arguments.folder;
    // Pages come into the folder whole.
    let write = || {
        fs::create_dir_all(folder)?;
        let pages = tempfile::tempdir_in(folder)?;
        clap_mangen::generate_to(command(), &pages)?;
        fs::read_dir(&pages)?.try_for_each(|page| page.and_then(|page| fs::rename(page.path(), folder.join(page.file_name()))))
    };
    write().map_err(|error| FileError::unwritten(folder, error))?;
    terminal::print(format_args!("Written: {}", folder.display()))
}
