//! `capbench generate`: manual pages and completions, generated from the description of the command line.

mod reference;

use std::path::PathBuf;

use anyhow::{Context, Result};
use capbench_sys::host::folder::Folder;
use capbench_sys::host::trust::Trust;
use clap::{Args, Command, ValueEnum};
use clap_complete::{Generator, Shell};
use clap_mangen::Man;

use self::reference::escaped;
use crate::exit::Exit;
use crate::help;

#[derive(Args, Clone, Debug)]
pub struct GenerateFlags {
    /// What
    #[arg(value_enum)]
    what: What,
    /// The folder for the files; it is made where there is none
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// What can be made.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum What {
    /// Completions for bash (capbench.bash), zsh (_capbench) and fish (capbench.fish)
    Completions,
    /// Manual pages: capbench.1, one for each command, and those of files (5) and tables (7)
    Man,
}

/// `cli` is the whole command line.
pub fn run(flags: &GenerateFlags, cli: Command) -> Result<Exit> {
    let path = &flags.folder;
    // Packages are built by root in folders of other users; the content is the same everywhere.
    let folder = Folder::create(path, &Trust::everybody());
    let folder = folder.with_context(|| format!("cannot make {}", path.display()))?;
    let attempt = || format!("cannot write into {}", path.display());
    match flags.what {
        What::Completions => {
            for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
                let mut text = Vec::new();
                clap_complete::generate(shell, &mut shown(&cli), "capbench", &mut text);
                folder.replace(shell.file_name("capbench").as_ref(), &text).with_context(attempt)?;
            }
        }
        What::Man => {
            let mut cli = cli.disable_help_subcommand(true);
            cli.build();
            pages(&cli, &folder).with_context(attempt)?;
            for page in reference::PAGES {
                let name = format!("{}.{}", page.name, page.section);
                folder.replace(name.as_ref(), page.text().as_bytes()).with_context(attempt)?;
            }
        }
    }
    Ok(Exit::Done)
}

/// The command line without hidden commands, which the generators of completions would offer.
fn shown(cli: &Command) -> Command {
    let commands = cli.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    Command::new("capbench").version(env!("CARGO_PKG_VERSION")).propagate_version(true).subcommands(commands)
}

/// Writes the page of a command and of each of its subcommands.
fn pages(command: &Command, folder: &Folder) -> Result<()> {
    let page = Man::new(command.clone())
        .manual("capbench manual")
        .source(concat!("capbench ", env!("CARGO_PKG_VERSION")));
    let name = page.get_filename();
    let shown: Vec<_> = command.get_subcommands().filter(|below| !below.is_hide_set()).collect();
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    text.extend(if shown.is_empty() { examples(command) } else { commands(command) }.into_bytes());
    page.render_options_section(&mut text)?;
    if command
        .get_after_long_help()
        .or(command.get_after_help())
        .is_some_and(|text| !text.to_string().is_empty())
    {
        page.render_extra_section(&mut text)?;
    }
    let mut text = String::from_utf8(text)?;
    // The generator's heading for the text below the options in --help.
    let heading = if shown.is_empty() { ".SH NOTES" } else { ".SH \"EXIT STATUS\"" };
    text = text.replace(".SH EXTRA", heading);
    if shown.is_empty() {
        text.push_str(".SH \"SEE ALSO\"\n\\fBcapbench\\fR(1)\n");
    }
    folder.replace(name.as_ref(), text.as_bytes())?;
    shown.into_iter().try_for_each(|below| pages(below, folder))
}

/// The section with a command's examples.
fn examples(command: &Command) -> String {
    let lines = help::examples(command.get_name()).iter().map(|example| escaped(example) + "\n");
    format!(".SH EXAMPLES\n.nf\n{}.fi\n", lines.collect::<String>())
}

/// The section with the commands, by the question that they answer.
fn commands(cli: &Command) -> String {
    let mut text = String::from(".SH COMMANDS\n");
    for group in help::GROUPS {
        text += &format!(".SS \"{}\"\n", group.heading);
        for (name, _) in group.commands {
            let about = cli.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let about = escaped(&about.unwrap_or_default());
            text += &format!(".TP\n\\fBcapbench\\-{name}\\fR(1)\n{about}\n");
        }
    }
    text
}
