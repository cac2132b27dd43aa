"""The command line: ``trialogue COMMAND``. Each command does its imports when it is called, so that help is quick."""

from __future__ import annotations

import contextlib
import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trialogue.errors import TrialogueError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from trialogue.agents.contract import AgentInfo
    from trialogue.experiments.config import ExperimentConfig
    from trialogue.experiments.doctor import Finding
    from trialogue.experiments.replaying import Replayer

INTERRUPTED = 130

app = typer.Typer(
    name="trialogue",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # panels around the help would take half a second to import
    help="Run language-model agents in text environments, and say with evidence which agent is better.",
)
exemplars_app = typer.Typer(no_args_is_help=True, help="Few-shot episodes.")
new_app = typer.Typer(no_args_is_help=True, help="Begin something of your own.")
app.add_typer(exemplars_app, name="exemplars")
app.add_typer(new_app, name="new")

Overrides = Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE, dots in KEY: limits.steps=30")]
Env = Annotated[str, typer.Argument(metavar="ENV", help="An environment by name, or as module:Class")]
EnvSettings = Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE of the environment")]
StoreFile = Annotated[Path | None, typer.Option("--store", help="The store's file; default runs/NAME.sqlite")]
RunSpec = Annotated[
    str, typer.Argument(metavar="RUN", help="A store (file, or name in runs/), with :AGENT for one run")
]


def main() -> None:
    """Runs the command line; errors raised on purpose become one message and exit code 2 (usage) or 1."""
    # Text of models and games must come out on any console: what it cannot print is escaped.
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app()
    except TrialogueError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 1)


@app.command()
def run(
    config: Annotated[Path, typer.Argument(help="The experiment: a YAML file")],
    overrides: Overrides = None,
    store: StoreFile = None,
    redo: Annotated[
        list[str] | None, typer.Option(help="Play episodes with this ending, and the trials after them, again")
    ] = None,
) -> None:
    """Run an experiment, or go on with it: the same command again plays only what is missing."""
    from trialogue.experiments.config import load_config

    _run(load_config(config, overrides or ()), store, redo or [])


@app.command()
def quickstart(
    overrides: Overrides = None,
    store: StoreFile = None,
    copy: Annotated[Path | None, typer.Option(help="Write the experiment file there instead of running it")] = None,
) -> None:
    """Watch a real language model play household games, ReAct beside Act: about ten minutes on two cores."""
    from trialogue.experiments.config import load_config

    source = resources.files("trialogue.experiments").joinpath("quickstart.yaml")
    if copy is not None:
        if copy.exists():
            raise UsageError(f"{copy} exists already; name a file that does not")
        copy.write_text(source.read_text("utf-8"), encoding="utf-8")
        print(f"wrote {copy}; run it with: trialogue run {copy}")
        return
    print(source.read_text("utf-8"))
    with resources.as_file(source) as path:
        _run(load_config(path, overrides or ()), store, [])


@app.command()
def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Stores, or single runs as STORE:AGENT")],
    json: Annotated[bool, typer.Option("--json", help="The same as JSON")] = False,
) -> None:
    """Compare runs: success with intervals, by type, behaviour, and paired differences."""
    from trialogue.experiments.compare import as_json
    from trialogue.experiments.report import print_report
    from trialogue.experiments.results import load_several

    loaded = load_several(runs)
    if json:
        print(as_json(loaded))
    else:
        print_report(loaded, _console())


@app.command()
def luck(
    a: Annotated[str, typer.Argument(help="SOLVED/TASKS, as in 95/134")],
    b: Annotated[str, typer.Argument(help="SOLVED/TASKS, as in 60/134")],
) -> None:
    """Ask of two counts from anywhere whether their difference may be luck (unpaired: Fisher's exact test)."""
    from trialogue.experiments.compare import counts_verdict

    print(counts_verdict(a, b))


@app.command()
def show(
    run: RunSpec,
    episode: Annotated[int, typer.Argument(help="Its number, as printed by `trialogue episodes`")],
    prompts: Annotated[bool, typer.Option(help="Also what each call added to the prompt")] = False,
) -> None:
    """Show one episode: thoughts, actions, observations and repairs told apart."""
    from trialogue.experiments.results import parse_spec
    from trialogue.experiments.show import print_episode
    from trialogue.experiments.store import Store

    with Store.read(parse_spec(run)[0]) as store:
        print_episode(store, episode, _console(), prompts=prompts)


@app.command()
def episodes(run: RunSpec) -> None:
    """List the episodes of a run: number, task, ending, steps."""
    from trialogue.experiments.results import parse_spec
    from trialogue.experiments.show import print_episodes
    from trialogue.experiments.store import Store

    path, name = parse_spec(run)
    with Store.read(path) as store:
        print_episodes(store, name, _console())


@app.command()
def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Stores, or single runs as STORE:AGENT")],
    to: Annotated[Path, typer.Option(help="The HTML file to write")],
    figures: Annotated[Path | None, typer.Option(help="Also write the figures there, as SVG and PDF")] = None,
) -> None:
    """Write what `compare` tells as one HTML file with figures, failure tags and example episodes."""
    from trialogue.experiments.web.document import write_report

    for written in write_report(runs, to, figures):
        print(written)


@app.command()
def view(
    run: RunSpec,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free")] = 8765,
    open: Annotated[bool, typer.Option("--open", help="Open it in a browser")] = False,
    who: Annotated[str, typer.Option(metavar="NAME", help="Let this person label episodes")] = "",
) -> None:
    """Look at a store in a browser, on this machine only; also while a run writes it."""
    import webbrowser

    from trialogue.experiments.results import parse_spec
    from trialogue.experiments.web.filters import Filter
    from trialogue.experiments.web.server import serve

    path, name = parse_spec(run)

    def ready(address: str) -> None:
        print(f"{path} is shown at {address} (Ctrl-C ends it)", flush=True)
        if open:
            webbrowser.open(address)

    with contextlib.suppress(KeyboardInterrupt):
        serve(path, Filter(run=name or "").address().removesuffix("?"), port=port, who=who, ready=ready)


@app.command()
def replay(
    run: RunSpec,
    episode: Annotated[int | None, typer.Argument(help="Its number; without, give --all")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every episode of the run, or of the store")] = False,
    agent: Annotated[
        bool, typer.Option("--agent", help="Make the agent anew too: the stored replies must lead to the same prompts")
    ] = False,
) -> None:
    """Execute stored actions again; say where anything is not as it was, byte for byte. Exit code 1 if so."""
    import asyncio

    from trialogue.experiments.replaying import replayer
    from trialogue.experiments.results import parse_spec

    if (episode is None) is not all_:
        raise UsageError("name an episode, or give --all")
    path, name = parse_spec(run)
    with replayer(path) as made:
        numbers = made.episodes(name) if episode is None else [episode]
        differing = asyncio.run(_replay(made, numbers, agent))
    print(f"{len(numbers)} replayed, {differing} differ" if all_ else "", end="\n" if all_ else "")
    if differing:
        raise typer.Exit(1)


async def _replay(made: Replayer, numbers: list[int], agent: bool) -> int:
    """Replays and prints one after the other; returns how many differ."""
    differing = 0
    for number in numbers:
        replayed = await made.replay(number, agent=agent)
        differing += replayed.difference is not None
        print(replayed)
    return differing


@app.command()
def fork(
    run: RunSpec,
    episode: Annotated[int, typer.Argument(help="The one to begin as")],
    at: Annotated[int, typer.Option(help="The step at which it is different (`act N` in `trialogue show`)")],
    thought: Annotated[str | None, typer.Option(help="In the place of the model's first thought there")] = None,
    action: Annotated[str | None, typer.Option(help="In the place of the model's command there")] = None,
) -> None:
    """Play an episode again with one thought or command put right, and the model going on from there.

    What the model said before is copied, not asked again. The same command goes on with a fork that was cut off.
    """
    import asyncio

    from trialogue.experiments.forking import fork as play_fork
    from trialogue.experiments.results import parse_spec
    from trialogue.experiments.show import print_episode
    from trialogue.experiments.store import Store

    path, _ = parse_spec(run)
    try:
        child = asyncio.run(play_fork(path, episode, at, thought=thought, action=action))
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from there", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    with Store.read(path) as store:
        print_episode(store, child, _console())


@app.command()
def tags(
    run: RunSpec,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line")] = False,
) -> None:
    """Say why episodes failed: tags told from their records, each with the step that shows it."""
    from trialogue.experiments.report import print_tags
    from trialogue.experiments.results import parse_spec
    from trialogue.experiments.store import Store
    from trialogue.experiments.tagging import as_json, tagged

    path, name = parse_spec(run)
    with Store.read(path) as store:
        if json:
            for line in map(as_json, tagged(store, name)):
                sys.stdout.write(line + "\n")
        else:
            print_tags(tagged(store, name), _console())


@app.command()
def label(
    run: RunSpec,
    episode: Annotated[int | None, typer.Argument(help="Its number; --next finds one")] = None,
    names: Annotated[list[str] | None, typer.Argument(metavar="TAG...", help="See `trialogue tags`; or own")] = None,
    who: Annotated[str, typer.Option(help="Who says so; default: your login name")] = "",
    note: Annotated[str, typer.Option(help="In a few words, why")] = "",
    remove: Annotated[bool, typer.Option("--remove", help="Take these labels back")] = False,
    next_: Annotated[
        bool, typer.Option("--next", help="Show failed episodes that you have not labelled, and ask")
    ] = False,
    agreement: Annotated[
        bool, typer.Option("--agreement", help="Of people with the tags, and with each other")
    ] = False,
) -> None:
    """Say yourself why an episode failed; also while a run writes the store."""
    from trialogue.experiments import labels
    from trialogue.experiments.results import parse_spec

    path, name = parse_spec(run)
    who = who or labels.login_name()
    if [episode is not None, next_, agreement].count(True) != 1 or bool(names) is (episode is None):
        raise UsageError("name an episode and tags, or give --next or --agreement")
    if next_:
        labels.ask(path, name, who, _console())
    elif agreement:
        labels.print_agreement(path, name, _console())
    elif episode is not None:
        for tag in names or ():
            if remove:
                labels.remove_label(path, episode, tag, who)
            else:
                labels.add_label(path, episode, tag, who, note)
                if said := labels.hint(tag):
                    print(said, file=sys.stderr)


@app.command()
def export(
    run: RunSpec,
    to: Annotated[str, typer.Option(help="jsonl, sft, parquet, inspect or mlflow")] = "jsonl",
    out: Annotated[Path | None, typer.Option(help="A file (jsonl, sft; default: printed) or a folder")] = None,
    times: Annotated[bool, typer.Option(help="jsonl: without, equal experiments give equal bytes")] = True,
    all_: Annotated[bool, typer.Option("--all", help="sft: also episodes that were not won")] = False,
    thoughts: Annotated[str, typer.Option(help="sft: keep or drop them")] = "keep",
    prompt: Annotated[str, typer.Option(help="sft: as it was sent, or the task alone")] = "sent",
    uri: Annotated[str, typer.Option(help="mlflow: the tracking server or store; default: as MLflow is set up")] = "",
) -> None:
    """Write a store in another form: JSON Lines, training data, Parquet, an Inspect log, MLflow runs."""
    from trialogue.experiments import exports
    from trialogue.experiments.results import parse_spec

    path, name = parse_spec(run)
    options = exports.Options(
        times=times,
        all=all_,
        thoughts=exports.keep_or_drop(thoughts),
        prompt=exports.sent_or_task(prompt),
        uri=uri,
    )
    for line in exports.export(to, path, name, out, options):
        sys.stdout.write(line + "\n")


@app.command()
def train(
    config: Annotated[Path, typer.Argument(help="The training: a YAML file")],
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(help="The folder of what comes of it; default: ./NAME")] = None,
    compare: Annotated[int, typer.Option(min=0, help="So many replies with those of llama.cpp, at the end")] = 0,
) -> None:
    """Fine-tune a local model on exported episodes (LoRA), or go on with it; an adapter for llama.cpp comes of it."""
    from trialogue.experiments.training.config import load_training_config
    from trialogue.experiments.training.train import train as train_

    settings = load_training_config(config, overrides or ())
    folder = out or Path(settings.name)
    command = " ".join(["trialogue", *sys.argv[1:]])
    try:
        adapter = train_(settings, folder, _console(), command=command, compare=compare)
    except KeyboardInterrupt:
        print(f"interrupted; the same command goes on from the checkpoint in {folder}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    print(f"written: {adapter}, and what is told of it: {folder / 'card.md'}")


@app.command()
def envs() -> None:
    """List the environments, those of other packages included."""
    from rich.markup import escape

    from trialogue.envs import describe

    told = [[e.name, f"[red]{escape(e.error)}[/]" if e.error else escape(e.summary), e.package] for e in describe()]
    _print_table("Environments", ["name", "summary", "package"], told)


@app.command()
def check(
    env: Env,
    settings: EnvSettings = None,
    tasks: Annotated[int, typer.Option(min=1, help="How many tasks to play")] = 4,
    split: Annotated[str, typer.Option(help="Where they come from; the first that needs no data")] = "",
) -> None:
    """Check an environment against its contract: what it promises is tried out."""
    from trialogue.experiments.check import Subject
    from trialogue.experiments.check import check as run_checks
    from trialogue.experiments.config import parse_settings

    findings = list(run_checks(Subject(env, parse_settings(settings or ()), split, tasks)))
    _print_findings(f"Check of {env}", findings, none="skipped", bad="FAILED")


@app.command()
def play(
    env: Env,
    settings: EnvSettings = None,
    task: Annotated[str, typer.Option(help="By id; the first of the split unless given")] = "",
    split: Annotated[str, typer.Option(help="Where the task comes from; the first that needs no data")] = "",
) -> None:
    """Play an environment yourself: Tab completes, :hint asks the expert, :why explains, :quit leaves."""
    from contextlib import closing

    from trialogue.envs import make
    from trialogue.experiments import play as table
    from trialogue.experiments.config import parse_settings

    with closing(make(env, **parse_settings(settings or ()))) as made:
        table.play(made, task or table.choose(made, split))


@app.command()
def data(
    name: Annotated[str, typer.Argument(help="Without: the sets, and where each was looked for")] = "",
    to: Annotated[Path | None, typer.Option(help="The folder; default: the set's variable, else ~/.cache")] = None,
    mirror: Annotated[str, typer.Option(help="Fetch the same files below this address instead")] = "",
) -> None:
    """Fetch real task sets; the same command goes on where a download was cut off."""
    from trialogue.experiments.data import SETS, find, obtain

    if name:
        print(obtain(find(name), to, mirror, _show_download))
    else:
        rows = [[s.name, s.title, s.state(), s.variable] for s in SETS]
        _print_table("Data", ["name", "what", "state", "variable"], rows)


@app.command("import")
def import_(
    format: Annotated[str, typer.Argument(help="Of the files: reflexion")],
    folder: Annotated[Path, typer.Argument(help="Where they are")],
    name: Annotated[str, typer.Option(help="What the run is called")],
    store: StoreFile = None,
) -> None:
    """Make a store of published results, to be compared with runs of your own."""
    from trialogue.experiments.config import require_label
    from trialogue.experiments.importer import import_results
    from trialogue.experiments.launch import default_path
    from trialogue.experiments.report import print_report
    from trialogue.experiments.results import load_runs

    require_label(name)
    path = store or default_path(name)
    published = import_results(format, folder, name, path)
    print_report(load_runs(str(path)), _console())
    print("\n".join([*(f"note: {note}" for note in published.notes), f"stored in {path}"]))


NewName = Annotated[str, typer.Argument(help="Lower-case letters, digits, underscores: card_game")]
NewFolder = Annotated[Path, typer.Option(help="Where the package's folder is made")]


@new_app.command("env")
def new_env(name: NewName, folder: NewFolder = Path(".")) -> None:
    """Write a package with a small environment that works, to be replaced by your own."""
    from trialogue.experiments import scaffold

    written = scaffold.new_env(name, folder)
    print("\n".join(map(str, written)))
    print(f"\nNow: pip install -e {written[0].parent}, then: trialogue check {name}, trialogue play {name}")


@new_app.command("agent")
def new_agent(name: NewName, folder: NewFolder = Path(".")) -> None:
    """Write a package with a small agent that works, to be replaced by your own."""
    from trialogue.experiments import scaffold

    written = scaffold.new_agent(name, folder)
    print("\n".join(map(str, written)))
    print(f"\nNow: pip install -e {written[0].parent}, then: trialogue run {written[3]}")


@app.command()
def agents() -> None:
    """List the agents, their settings and where they come from, those of other packages included."""
    from rich.markup import escape

    from trialogue.agents import describe

    told = describe()
    shared = next(agent.settings for agent in told if agent.name == "react")
    rows = []
    for agent in told:
        own = agent.settings
        # What most agents share is told once, at the agent whose settings they are.
        of_react = "those of react" if agent.name != "react" and shared.keys() <= own.keys() else ""
        if of_react:
            own = {key: value for key, value in own.items() if shared.get(key, ...) != value}
        summary = f"[red]{escape(agent.error)}[/]" if agent.error else escape(agent.summary)
        settings = "; ".join(filter(None, [of_react, ", ".join(_setting(*item, told) for item in own.items())]))
        rows.append([agent.name, summary, escape(agent.source), escape(settings), agent.package])
    _print_table("Agents", ["name", "summary", "source", "settings", "package"], rows)


def _setting(key: str, value: object, agents: list[AgentInfo]) -> str:
    """``key=value``; the settings of another agent, nested in these, by its name."""
    nested = next((agent.name for agent in agents if isinstance(value, dict) and value == agent.settings), "")
    return f"{key}: those of {nested}" if nested else f"{key}={value}"


@app.command()
def bench(
    parts: Annotated[list[str] | None, typer.Argument(metavar="PART...", help="Only these; default: all")] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON")] = False,
) -> None:
    """Measure what it costs on this machine: start, loop, model kept busy, prefix cache, environments."""
    from trialogue.experiments.bench import bench as bench_

    facts, figures = bench_.machine(), list(bench_.measured(parts or ()))
    if json:
        print(bench_.as_json(facts, figures))
        return
    _console().print(bench_.table(figures))
    print(", ".join(f"{key}: {value}" for key, value in facts.items()))


@app.command()
def doctor() -> None:
    """Say what is installed, what is missing, and where data was looked for."""
    from trialogue.experiments.doctor import examine

    _print_findings("Doctor", examine(), none="optional", bad="missing")


@exemplars_app.command("check")
def exemplars_check(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE...", help="Your own instead of the bundled")
    ] = None,
    env: Annotated[str | None, typer.Option(help="Only those of one environment")] = None,
) -> None:
    """Replay every exemplar through its engine, in every dialect; fail on any observation that differs."""
    from trialogue.exemplars.library import bundled_files, read_documents
    from trialogue.experiments.exemplar_check import check_file

    documents = [d for path in files for d in read_documents(path)] if files else bundled_files(env)
    counts = {"ok": 0, "FAILED": 0, "not replayable": 0}
    for document in (document for document in documents if env in (None, document.env)):
        for exemplar, faults in check_file(document):
            verdict = "not replayable" if faults is None else "FAILED" if faults else "ok"
            counts[verdict] += 1
            dialect = f" [{exemplar.dialect}]" if exemplar.dialect else ""
            print(f"{verdict:6} {exemplar.env}/{exemplar.type} {exemplar.id}{dialect}")
            for fault in faults or ():
                print(f"       {fault}")
    skipped = f", {counts['not replayable']} not replayable (no task)" if counts["not replayable"] else ""
    print(f"{counts['ok'] + counts['FAILED']} checked, {counts['FAILED']} failed{skipped}")
    if counts["FAILED"] or not sum(counts.values()):
        raise typer.Exit(1)


@exemplars_app.command("import")
def exemplars_import(
    file: Annotated[Path, typer.Argument(help="Prompts as JSON, as the ReAct repository keeps them")],
    env: Annotated[str, typer.Option(help="The environment they are for")],
    type: Annotated[str, typer.Option(help="Only this task type; or its name, where the file does not tell it")] = "",
    key: Annotated[str, typer.Option(help="Only keys like this: webthink_simple6, act_*")] = "",
) -> None:
    """Print published prompts as an exemplar file, for the setting `exemplars:` of an agent."""
    from trialogue.envs import describe
    from trialogue.exemplars.importer import import_prompts
    from trialogue.experiments.exemplar_record import as_yaml

    if ":" not in env:
        describe(env)  # a name that nothing answers to is refused
    imported = import_prompts(file, env, type=type, keys=key)
    sys.stdout.write("---\n".join(map(as_yaml, imported.files)))
    for left, why in imported.left_out.items():
        print(f"left out: {left} {why}", file=sys.stderr)


@exemplars_app.command("record")
def exemplars_record(
    env: Annotated[str, typer.Argument(help="An environment by name, or as module:Class")],
    tasks: Annotated[list[str], typer.Argument(metavar="TASK...", help="Tasks of one type, by id")],
    actions: Annotated[Path | None, typer.Option(help="Play these, one a line, instead of the expert's")] = None,
    dialect: Annotated[list[str] | None, typer.Option(help="Default: all; the file is written in the first")] = None,
) -> None:
    """Play tasks and print them as an exemplar file; the thoughts are then written by hand."""
    from trialogue.experiments.exemplar_record import as_yaml, read_actions, record

    script = None if actions is None else read_actions(actions)
    sys.stdout.write(as_yaml(record(env, tasks, dialect or (), script)))


def _run(config: ExperimentConfig, path: Path | None, redo: list[str], accept_changes: bool = False) -> None:
    import asyncio

    from trialogue.experiments.launch import default_path, open_store
    from trialogue.experiments.progress import ProgressDisplay
    from trialogue.experiments.report import print_report
    from trialogue.experiments.results import load_runs
    from trialogue.experiments.runner import run_experiment

    path = path or default_path(config.name)
    console = _console()
    with open_store(config, path, accept_changes=accept_changes) as store:
        if redo:
            console.print(f"{store.reopen(redo)} episodes are played again")
        try:
            with ProgressDisplay(console) as display:
                asyncio.run(run_experiment(config, store, display))
        except KeyboardInterrupt:
            console.print(f"\ninterrupted; everything finished is in {path}. The same command goes on from there.")
            raise typer.Exit(INTERRUPTED) from None
    print_report(load_runs(str(path)), console)
    console.print(f"\nstored in {path}. See: trialogue episodes {path}, or trialogue show {path} 1", highlight=False)


def _show_download(name: str, done: int, total: int | None) -> None:
    """One line that is written over at a terminal; elsewhere only its last state, since nobody would watch."""
    from trialogue.experiments.data import size

    over = done == total
    if sys.stderr.isatty() or over:
        print(f"\r{name}: {size(done)} of {size(total)}", end="\n" if over else "", file=sys.stderr, flush=True)


def _print_findings(title: str, findings: list[Finding], *, none: str, bad: str) -> None:
    """A table of findings; exit code 1 when any is bad."""
    from rich.markup import escape

    marks = {True: "[green]ok[/]", None: f"[yellow]{none}[/]", False: f"[red]{bad}[/]"}
    _print_table(title, ["", "what", "detail"], [[marks[f.ok], f.name, escape(f.detail)] for f in findings])
    if any(f.ok is False for f in findings):
        raise typer.Exit(1)


def _print_table(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    _console().print(table)


def _console() -> Console:
    from rich.console import Console

    console = Console()
    # A file or a pipe has no width of its own; eighty columns would break every table.
    return console if console.is_terminal else Console(width=160)


if __name__ == "__main__":
    main()
