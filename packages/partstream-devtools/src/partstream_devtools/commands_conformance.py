"""`partstream conformance`: tests a provider or a model server against the contract, and says what it breaks.

The package `conformance` tests; this command chooses the target, and prints and writes the report:

1. The options name a target: a provider or a parser in this process, a command, or a base URL.
2. The fixed scenarios run, and the screen prints a line for each. With `--replay`, a kept failure or recorded exchanges
   run in their place.
3. With `--fuzz`, generated conversations follow. What runs in this process runs on a clock that jumps over pauses.
4. The report is finished: failures are made smaller, the baseline is applied, secrets are removed. Then files and
   badges are written, and the screen prints every failure in full.
"""

from __future__ import annotations
import asyncio
import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from secrets import randbelow
from typing import TYPE_CHECKING, Any, Final

import click
from rich.text import Text

from partstream.cli.console import make_console
from partstream.cli.options import check_variable
from partstream.cli.terminal import ExitCode
from partstream.codec.checks import replace
from partstream.codec.redaction import Redactor
from partstream.codec.system import CACHE
from partstream.codec.text import visible
from partstream.errors import CallerError, LanguageModelError, LanguageModelErrorCode
from partstream_devtools.conformance import fuzzing, report_formats
from partstream_devtools.conformance import report as reports
from partstream_devtools.conformance.checks import HINTS, LATEST, REQUIREMENTS
from partstream_devtools.conformance.driver import Capabilities, Provocation, Target, TimeLimits
from partstream_devtools.conformance.exercises import GENERATED
from partstream_devtools.conformance.parsing import Takes
from partstream_devtools.conformance.running import Opening, replay_exchanges, run
from partstream_devtools.conformance.scenarios import SCENARIOS, all_rows, selected
from partstream_devtools.conformance.stdio_target import StdioTarget
from partstream_devtools.conformance.targets import MOST_REQUESTS, BaseURLTarget, ParserTarget, Tested, parser_from
from partstream_devtools.conformance.transcript import lines_before
from partstream_devtools.recorded_stream import RecordingError
from partstream_devtools.recordings import PACE, open_recordings
from partstream_devtools.testing.admission import BASE_PATHS

if TYPE_CHECKING:
    from partstream_devtools.conformance.report import CheckResult, Report

# ---- Options ----


_SEEDS: Final = 2**31
_EXAMPLES, _EXAMPLE_SECONDS = 50, 30.0
"""How many conversations are tried in so many seconds."""

_PATH: Final = click.Path(path_type=Path)
_EXISTING: Final = click.Path(path_type=Path, exists=True, dir_okay=False)


# ---- The screen ----

_MARKS: Final = {
    reports.Verdict.ERROR: ("✗", "ERROR", "bold red", "errors of the kit"),
    reports.Verdict.FAILED: ("✗", "FAIL", "bold red", "failed"),
    reports.Verdict.UNTESTABLE: ("✗", "UNTESTABLE", "bold red", "untestable"),
    reports.Verdict.WARNING: ("!", "WARN", "yellow", "warnings"),
    reports.Verdict.PASSED: ("✓", "ok", "green", "checks passed"),
    reports.Verdict.NOT_JUDGED: ("–", "-", "dim", "not judged"),
    reports.Verdict.NOT_APPLICABLE: ("–", "-", "dim", "not applicable"),
}
"""The mark of a verdict in a terminal, its word for a pipe, its style, and its word in the sum; the worst first."""
_WORST: Final = tuple(_MARKS)
_INDENT: Final = "    "
_REPEAT: Final = "repeat:"


class ReportScreen:
    """Prints a run as it goes.

    Args:
        is_verbose: Whether every check gets a line.
        redactor: Removes the secrets of the run from every line.
    """

    def __init__(self, *, is_verbose: bool, redactor: Redactor | None = None) -> None:
        self._console = make_console()
        self._redactor = redactor or Redactor()
        self._is_verbose = is_verbose
        self._has_marks = self._console.is_terminal

    def opened(self, tested: Tested) -> None:
        """Shows what is tested, and what it declares."""
        told = tested.capabilities.to_json()
        declared = ", ".join(name for name, value in told.items() if value and name not in {"model", "prompts"})
        description = tested.target.description
        driven = dict.fromkeys(filter(None, (description.kind, tested.way.value, description.protocol)))
        self._print(Text.assemble((visible(description.name), "bold"), f" ({', '.join(driven)})"))
        self._print(Text(f"  model {visible(tested.model.id)}; can: {visible(declared) or 'text alone'}", "dim"))
        if tested.session.note:
            self._print(Text(f"  {visible(tested.session.note)}", "dim"))

    def scenario(self, slug: str, results: Sequence[CheckResult]) -> None:
        """Shows one scenario."""
        counts = Counter(one.verdict for one in results)
        worst = min(counts, key=_WORST.index, default=reports.Verdict.NOT_JUDGED)
        judged = len(results) - counts[reports.Verdict.NOT_APPLICABLE] - counts[reports.Verdict.NOT_JUDGED]
        if judged:
            said = f"{counts[reports.Verdict.PASSED]} of {judged} checks" if worst in _WORST[:4] else f"{judged} checks"
        else:
            said = f"{results[0].verdict.value}: {results[0].got}" if results else ""
        self._print(Text.assemble(self._mark(worst), f"{slug:<24} ", (visible(said), "dim")))
        if self._is_verbose:
            for one in results:
                got = f": {visible(one.got)}" if one.got else ""
                self._print(Text.assemble("  ", self._mark(one.verdict), f"{one.id} {one.level} {one.section}{got}"))

    def report(self, report: Report) -> None:
        """Shows every failure in full, and the sentence that sums up."""
        shown = [one for one in report.checks if one.verdict in _WORST[:4] and not one.expected]
        for rule, count in Counter(one.rule for one in shown).items():
            self._print(Text(""))
            self._failure(next(one for one in shown if one.rule == rule), report, count - 1)
        for entry in report.stale:
            self._print(Text(f"Stale entry of the baseline: {visible(entry)}", "bold red"))
        self._print(Text(""))
        # How more checks are judged, for a provider that was instructed by the prompt.
        left = sum(one.verdict is reports.Verdict.NOT_JUDGED and "make(upstream)" in one.got for one in report.checks)
        if left and report.target.kind == "provider" and Provocation.DIRECTED.value in report.ways:
            more = (
                f"{left} more checks need the kit as the provider's model server: put `def make(upstream)`, "
                "which returns a provider that asks this base URL, into the file, and test FILE:make."
            )
            self._print(Text(more, "dim"))
        counts = report.counts
        verb = {0: "kept", 1: "broken"}.get(int(report.exit_code), "not judged")
        said = ", ".join(f"{counts[verdict]} {_MARKS[verdict][3]}" for verdict in reports.Verdict if counts[verdict])
        expected = sum(one.expected for one in report.checks)
        known = f", {expected} expected by the baseline" if expected else ""
        stale = f", stale in the baseline: {len(report.stale)}" if report.stale else ""
        sentence = f"Contract {report.contract} {verb}: {said or 'nothing to judge'}{known}{stale}"
        self._print(Text(f"{sentence} ({report.seconds:.1f} s)", "bold"))

    def _failure(self, one: CheckResult, report: Report, same: int) -> None:
        more = f", and {same} more" if same else ""
        self._print(
            Text.assemble(
                self._mark(one.verdict),
                (one.rule, "bold"),
                f"  {one.level}  {one.section}  (scenario {one.scenario}{more})",
            )
        )
        self._print(Text(f"    {one.promise}"))
        self._print(Text(f"    Here: {visible(one.got)}"))
        if one.flaky is not None:
            self._print(Text(f"    Flaky: failed {one.flaky['failed']} of {one.flaky['of']} times", "yellow"))
        for line in lines_before(report.transcripts.get(one.transcript or ""), one.answer, one.index):
            self._print(Text(f"    {line}"))
        hint = HINTS.get(one.rule)
        if hint is not None and one.verdict is not reports.Verdict.UNTESTABLE:
            self._print(Text(f"    {hint.seen} Often: {'; or '.join(hint.causes)}.", "dim"))
        if one.repeat:
            self._print(Text(f"{_INDENT}{_REPEAT} {visible(one.repeat)}", "dim"))

    def _mark(self, verdict: reports.Verdict) -> tuple[str, str]:
        mark, word, style, _ = _MARKS[verdict]
        return (f"{mark} " if self._has_marks else f"{word:<4} "), style

    def _print(self, line: Text) -> None:
        hidden = self._redactor.redact(line.plain)
        shown = line if hidden == line.plain else Text(hidden, line.style)
        if not self._has_marks or not hidden.startswith(_INDENT):
            self._console.print(shown)
        elif hidden.startswith(f"{_INDENT}{_REPEAT}"):
            self._console.print(shown, soft_wrap=True)  # whole, so that it can be copied
        else:
            for row in shown[len(_INDENT) :].wrap(self._console, max(self._console.width - len(_INDENT), 20)):
                self._console.print(Text(_INDENT).append_text(row))


# ---- The command ----

_SECONDS: Final = "PARTSTREAM_CONFORMANCE_SECONDS"
_ENDED: Final = "PARTSTREAM_CONFORMANCE_ENDED"
"""The variable with the file that a process of --isolated makes when it has ended by itself: a provider can end it too,
with any code."""

_HELP: Final = """Test a provider or a model server against the contract.

TARGET is a provider (file.py, file.py:attribute, module:attribute), a function that makes one of the parameter
`upstream` (a base URL: the kit is the model server then) or `script`, or the base URL of a model server. A command that
speaks the sidecar's protocol is given with --stdio. A parser makes parts of the bytes of a stream: a function whose
first parameter is named `data` or `chunks` or annotated with bytes, or any function with --parser. CHECK selects checks
by the beginning of their names, such as `tool-call` or `cancel-in-text`.

\b
partstream conformance my_provider.py
partstream conformance my_provider.py:make tool-call
partstream conformance http://localhost:8080/v1 --protocol NAME
partstream conformance my_parser.py:parse --parser --protocol NAME

The exit code is 0 if the contract is kept, 1 if it is broken, 2 if the target cannot be tested, and 3 if the kit itself
failed."""


@click.command("conformance", help=_HELP)
@click.argument("target", required=False)
@click.argument("checks", metavar="[CHECK]...", nargs=-1)
@click.option("--list", "lists", is_flag=True, help="List the checks, and test nothing.")
@click.option("--section", metavar="N", help="Judge the promises of a section of the contract only, such as 3 or 3.2.")
@click.option(
    "--protocol",
    metavar="NAME",
    help="The protocol of the base URL, that a target asks its upstream in, or that a parser reads.",
)
@click.option("--stdio", "is_command", is_flag=True, help="TARGET is a command that speaks the sidecar's protocol.")
@click.option("--no-upstream", is_flag=True, help="The command has a model of its own: the prompts say what to do.")
@click.option(
    "--provider", "providers", metavar="SOURCE", multiple=True, help="A provider that the command is to load."
)
@click.option("--parser", "is_parser", is_flag=True, help="TARGET is a parser of the streams of --protocol.")
@click.option(
    "--takes",
    type=click.Choice([one.value for one in Takes]),
    help="What the parser is given. Default: what its first parameter says, else all bytes.",
)
@click.option(
    "--recordings",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="Judge the parser by the recorded streams of this folder too, each with its NAME.expected.json.",
)
@click.option("--isolated", is_flag=True, help="Run the provider in a process of its own.")
@click.option("--model", metavar="ID", help="The model to ask; the first that calls tools without it.")
@click.option(
    "--capability",
    "capabilities",
    metavar="NAME[=VALUE]",
    multiple=True,
    help="What the target can do; repeat for more.",
)
@click.option("--prompt", "prompts", metavar="SCENARIO=TEXT", multiple=True, help="What to say to provoke a scenario.")
@click.option("--key-env", metavar="VARIABLE", help="The environment variable that holds the key of a base URL.")
@click.option(
    "--allow-remote", is_flag=True, help="Allow a base URL on another machine: it gets prompts, and may cost."
)
@click.option(
    "--max-requests",
    type=click.IntRange(1),
    default=MOST_REQUESTS,
    show_default=True,
    metavar="N",
    help="The most answers that a base URL is asked for.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.1),
    default=10.0,
    envvar=_SECONDS,
    show_default=True,
    metavar="N",
    show_envvar=True,
    help="The most seconds that one answer may take.",
)
@click.option("--requirements", default=LATEST, show_default=True, metavar="SET", help="The checks that count.")
@click.option(
    "--json",
    "json_file",
    type=click.File("w", encoding="utf-8"),
    metavar="FILE",
    help="Write the whole report as JSON; - for standard output.",
)
@click.option(
    "--fuzz",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Generate conversations too, for so long at most. Needs the extra `conformance`.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    help="The seed of what is generated. Default: 0 where CI is set, else another one each time.",
)
@click.option(
    "--other-protocol", metavar="NAME", help="With --fuzz: the same has to come over this protocol of the upstream."
)
@click.option(
    "--failures",
    type=_PATH,
    default=Path(fuzzing.FOLDER),
    show_default=True,
    metavar="FOLDER",
    help="Where the smallest failures are kept.",
)
@click.option("--no-shrink", is_flag=True, help="Do not make failures smaller.")
@click.option(
    "--replay",
    metavar="FILE",
    help="Repeat a kept failure, or have the model server of the kit send recorded exchanges, and nothing else.",
)
@click.option(
    "--pace",
    type=PACE,
    default="0",
    metavar="real|0|N",
    show_default=True,
    help="With --replay: send recorded exchanges as fast as they came, at once, or N times as fast.",
)
@click.option("--baseline", type=_EXISTING, metavar="FILE", help="Known failures, as TOML or JSON; stale ones fail.")
@click.option("--write-baseline", type=_PATH, metavar="FILE", help="Write a baseline of all that fails now.")
@click.option("--junit", type=_PATH, metavar="FILE", help="Write the report as JUnit XML.")
@click.option("--markdown", type=_PATH, metavar="FILE", help="Write a summary as Markdown.")
@click.option(
    "--badge",
    "badges",
    type=_PATH,
    multiple=True,
    metavar="FILE",
    help="Write a badge: an SVG, or JSON for shields.io if the name ends with .json; repeat for both.",
)
@click.option(
    "--matrix", is_flag=True, help="Print a page of HTML that compares reports: the arguments are files of --json."
)
@click.option("-v", "--verbose", is_flag=True, help="Print every check.")
@click.pass_context
def command(context: click.Context, /, **options: Any) -> None:
    """Runs the command."""
    try:
        code = _run(options)
    except CallerError as error:
        cause = error.__cause__
        wants_key = isinstance(cause, LanguageModelError) and cause.code == LanguageModelErrorCode.NO_PERMISSIONS
        way_out = "; --key-env VARIABLE sends it a key" if wants_key and options["key_env"] is None else ""
        context.exit(_refused(f"{error}{way_out}", options))
    except click.FileError as error:  # its own exit code says that the contract is broken
        context.exit(_refused(error.format_message(), options))
    except SystemExit as error:  # of the provider: its code says nothing of the contract
        context.exit(_refused(f"the provider ended the process with {error!r}", options))
    _say_that_it_has_ended()
    context.exit(code)


def _refused(reason: str, options: Mapping[str, Any]) -> int:
    """Says why the target cannot be tested, without secrets."""
    _say_that_it_has_ended()
    make_console(stderr=True).print(Text(f"error: {visible(_redactor_of(options).redact(reason))}", "bold red"))
    return reports.ReportCode.NOT_USABLE


def _redactor_of(options: Mapping[str, Any]) -> Redactor:
    """What removes the secrets of a run: of the target's command line or address, and of the environment."""
    target, key_env = options["target"] or "", options["key_env"]
    try:
        words = shlex.split(target)
    except ValueError:  # a quotation that does not end
        words = target.split()
    key = [] if key_env is None else [os.environ.get(key_env, "")]
    return Redactor({*reports.secrets_of(command=words, environment=os.environ), *key})


def _run(options: dict[str, Any]) -> int:
    """Does what the options say, and returns the exit code.

    Raises:
        CallerError: The target cannot be tested, or an option does not fit.
    """
    given = [one for one in (options["target"], *options["checks"]) if one]
    if options["lists"]:
        rows = all_rows(options["protocol"]) if _names_parser(options) else SCENARIOS
        for slug, ids in selected(given, options["section"], rows).items():
            click.echo(f"{slug}: {rows[slug].title}")
            for one in ids:
                requirement = REQUIREMENTS[one.partition("/")[0]]
                click.echo(f"  {one}  {requirement.level.value} {requirement.section}")
        return reports.ReportCode.KEPT
    if options["matrix"]:
        if not given:
            raise CallerError("--matrix: got no file, expected the files of `partstream conformance --json`")
        click.echo(report_formats.matrix_html([reports.read_report(Path(file)) for file in given]), nl=False)
        return reports.ReportCode.KEPT
    if not options["target"]:
        raise click.UsageError("Missing argument 'TARGET'.")
    # Before the target starts, which says whether it is a parser.
    selected(options["checks"], options["section"], all_rows() if options["checks"] else SCENARIOS)
    if options["fuzz"] is not None and options["replay"] is None:
        fuzzing.check_can_generate()
    if options["isolated"] and not options["is_command"]:
        return _in_a_process_of_its_own()
    json_file = options["json_file"]
    is_quiet = json_file is not None and json_file.name in {"-", "<stdout>"}
    redactor = _redactor_of(options)
    screen = None if is_quiet else ReportScreen(is_verbose=options["verbose"], redactor=redactor)
    # What a provider prints is for people, and must not get into the JSON.
    with redirect_stdout(sys.stderr) if is_quiet else nullcontext():
        report = _Run(options, redactor).report(screen)
    _write_files(report, options)
    if screen is not None:
        screen.report(report)
    return report.exit_code


def _names_parser(options: Mapping[str, Any]) -> bool:
    return bool(options["is_parser"] or options["takes"] or options["recordings"])


def _write_files(report: Report, options: Mapping[str, Any]) -> None:
    """Writes the files that the options name.

    Raises:
        CallerError: A file cannot be written.
    """
    said, day = report.to_json(), (report.date or datetime.now(UTC).isoformat())[:10]
    files: list[tuple[Path | None, Callable[[], str]]] = [
        (options["junit"], lambda: report_formats.junit_xml(said)),
        (options["markdown"], lambda: report_formats.markdown_summary(said)),
        (options["write_baseline"], lambda: reports.baseline_text(report.checks)),
    ]
    badges = {
        True: lambda: json.dumps(report_formats.badge_json(said, day)) + "\n",
        False: lambda: report_formats.badge_svg(said, day),
    }
    files += [(path, badges[path.suffix == ".json"]) for path in options["badges"]]
    for path, content in files:
        if path is None:
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content(), encoding="utf-8")
        except OSError as error:
            raise CallerError(f"cannot write {path}: {error.strerror or error}") from error
    if options["json_file"] is not None:
        json.dump(said, options["json_file"], ensure_ascii=True, indent=1)
        options["json_file"].write("\n")


_REPEATED: Final = {
    "is_command": "--stdio",
    "is_parser": "--parser",
    "takes": "--takes",
    "recordings": "--recordings",
    "no_upstream": "--no-upstream",
    "providers": "--provider",
    "protocol": "--protocol",
    "model": "--model",
    "capabilities": "--capability",
    "prompts": "--prompt",
    "key_env": "--key-env",
    "allow_remote": "--allow-remote",
}
"""The options without which a target is another one, by the name of their parameter."""


class _Run:
    """The target of the options, and what they ask for of it.

    Raises:
        CallerError: An option does not fit, or the target cannot be read.
    """

    def __init__(self, options: Mapping[str, Any], redactor: Redactor) -> None:
        self._options = options
        self._redactor = redactor
        self._is_url = "://" in options["target"]
        capabilities = _capabilities(options["capabilities"], options["prompts"], options["model"])
        names = ("requirements", "protocol", "other_protocol")
        named = {name: options[name] for name in names}
        self._opening = Opening(self._target(), capabilities, TimeLimits(options["seconds"]), **named)

    def report(self, screen: ReportScreen | None) -> Report:
        """The whole report: of the fixed scenarios unless something is replayed, and of what is generated.

        Raises:
            CallerError: The target cannot be opened, a file cannot be read or written, or Hypothesis is not installed.
        """
        options = self._options
        if options["replay"] is not None:
            report = self._completed(self._replaying(options["replay"]))
        else:
            report = self._scenarios(screen)
            further = None if options["fuzz"] is None else self._completed(self._searching())
            if screen is not None and further is not None:
                screen.scenario(GENERATED, further.checks)
            if not options["no_shrink"] and not self._is_url:
                folder = options["failures"]
                report = self._completed(fuzzing.with_minimal_failures(report, self._opening, folder, self._redactor))
            report = report if further is None else fuzzing.with_generated(report, further)
        if options["baseline"] is not None:
            report = fuzzing.with_baseline(report, reports.read_baseline(options["baseline"]))
        return fuzzing.without_secrets(report, self._redactor)

    def _target(self) -> Target | ParserTarget | str:
        """A parser, the source of a provider, or the target of a command or of a base URL."""
        options, name, protocol = self._options, self._options["target"], self._options["protocol"]
        if _names_parser(options):
            return parser_from(name, protocol, takes=options["takes"], recordings=options["recordings"])
        if options["is_command"]:
            has_upstream = not options["no_upstream"]
            return StdioTarget(name, protocol, providers=options["providers"], has_upstream=has_upstream)
        if not self._is_url:
            return str(name)
        key_env = options["key_env"]
        return BaseURLTarget(
            name,
            protocol,
            api_key=None if key_env is None else check_variable("--key-env", key_env, "the key of the server"),
            allow_remote=options["allow_remote"],
            most_requests=options["max_requests"],
        )

    def _scenarios(self, screen: ReportScreen | None) -> Report:
        """The report of the fixed scenarios, with the whole command that repeats each check."""
        options, opening = self._options, self._opening
        report = asyncio.run(
            run(
                opening.target,
                select=options["checks"],
                section=options["section"],
                capabilities=opening.capabilities,
                limits=opening.limits,
                requirements=opening.requirements,
                protocol=opening.protocol,
                on_open=None if screen is None else screen.opened,
                on_scenario=None if screen is None else screen.scenario,
            )
        )
        words = ["partstream", "conformance", options["target"]]
        for name, option in _REPEATED.items():
            value = options[name]
            given = value if isinstance(value, tuple) else () if value in {None, False} else (value,)
            for one in given:
                words += [option] if one is True else [option, str(one)]
        command_line = shlex.join(words)
        checks = tuple(replace(check, repeat=f"{command_line} {check.id}") for check in report.checks)
        return replace(report, checks=checks)

    def _searching(self) -> Coroutine[Any, Any, Report]:
        # Hypothesis keeps what it read of the user's modules, by default in the folder where the command runs.
        os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(CACHE.path() / "hypothesis"))
        seed, seconds = self._options["seed"], self._options["fuzz"]
        if seed is None:
            seed = 0 if os.environ.get("CI") else randbelow(_SEEDS)
        examples = max(_EXAMPLES, math.ceil(_EXAMPLES * seconds / _EXAMPLE_SECONDS))
        settings = fuzzing.FuzzSettings(seconds, examples, seed)
        return fuzzing.search(self._opening, settings, self._options["failures"], self._redactor)

    def _replaying(self, file: str) -> Coroutine[Any, Any, Report]:
        """Repeats a kept failure, which is JSON, or replays recorded exchanges."""
        try:
            recordings = open_recordings(file).recordings
        except RecordingError as error:
            raise CallerError(f"--replay: {error}") from error
        exchanges = tuple(one.exchange for one in recordings if one.exchange is not None)
        if not exchanges:
            return fuzzing.replay(self._opening, Path(file))
        spoken = next((one.protocol for one in recordings if one.protocol is not None), None)
        protocol = self._opening.protocol or (spoken if spoken in BASE_PATHS else None)
        return replay_exchanges(replace(self._opening, protocol=protocol), exchanges, file, self._options["pace"])

    def _completed(self, work: Coroutine[Any, Any, Report]) -> Report:
        """Runs it, on a clock that jumps over pauses where all that waits is in this process."""
        is_in_process = not self._options["is_command"] and not self._is_url
        with asyncio.Runner(loop_factory=fuzzing.VirtualTimeLoop if is_in_process else None) as runner:
            try:
                return runner.run(work)
            except OSError as error:
                raise CallerError(f"cannot write {error.filename or 'a file'}: {error.strerror or error}") from error


_WORDS: Final = {"": True, "true": True, "yes": True, "false": False, "no": False}


def _capabilities(given: tuple[str, ...], prompts: tuple[str, ...], model: str | None) -> Capabilities:
    values: dict[str, Any] = {}
    for one in given:
        name, _, value = one.partition("=")
        values[name.replace("-", "_")] = _WORDS.get(value, value)
    if unsaid := [one for one in prompts if "=" not in one]:
        raise CallerError(f"--prompt: got {unsaid[0]}, expected SCENARIO=TEXT, such as one-call='run get_weather'")
    said = {slug: text for slug, _, text in (one.partition("=") for one in prompts)}
    unknown = sorted(set(said) - set(SCENARIOS))
    if unknown:
        raise CallerError(f"--prompt: got {', '.join(unknown)}, expected names of scenarios, as --list prints them")
    return Capabilities.of({**values, "prompts": said, **({"model": model} if model else {})})


def _in_a_process_of_its_own() -> int:
    """Runs this command in another process, without `--isolated`, and returns its exit code."""
    arguments = [one for one in sys.argv[1:] if one != "--isolated"]
    with tempfile.TemporaryDirectory() as folder:
        ended = Path(folder, "ended")
        environment = {**os.environ, _ENDED: str(ended)}
        command_line = [sys.executable, "-P", "-m", "partstream", *arguments]
        code = subprocess.run(command_line, env=environment, check=False).returncode  # noqa: S603
        has_ended = ended.exists()
    if code < 0:
        raise CallerError(f"the process of the provider was ended by signal {-code}")
    if not has_ended and code != ExitCode.INTERRUPTED:
        raise CallerError(f"the provider ended the process with the code {code}, before there was a report")
    return code


def _say_that_it_has_ended() -> None:
    """Tells the command that started this process that its exit code is that of a report."""
    if _ENDED in os.environ:
        Path(os.environ[_ENDED]).touch()
