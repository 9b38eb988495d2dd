import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import stopwise as sw
from stopwise.cli.commands import COMMANDS, app, load
from stopwise.problem.families import nested_errors
from stopwise.simulation.names import FAMILIES, NAMED_POLICIES

SHORT = ["--horizon", "500", "--replications", "3"]


def invoke(*arguments):
    """The output of a command that must succeed."""
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def simulate(*arguments):
    return invoke("simulate", *SHORT, *arguments)


@pytest.fixture
def cases(tmp_path):
    """A CSV file with the cases of three tests."""
    labels, outputs = nested_errors(sw.Cascade([0, 0.1, 0.1])).sample(200, 1)
    rows = [f"{row[0]},{row[1]},{row[2]},{y}" for row, y in zip(outputs, labels, strict=True)]
    path = tmp_path / "cases.csv"
    path.write_text("\n".join(["first,second,third,y", *rows, ""]))
    return path


class TestHelp:
    def test_version(self):
        assert invoke("--version") == f"stopwise {sw.__version__}\n"

    def test_every_family_and_policy_is_listed(self):
        text = invoke("simulate", "--help")
        for name in (*FAMILIES, *NAMED_POLICIES):
            assert name in text

    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_command_and_option_is_explained(self, name):
        command = load(name)
        assert [p.name for p in command.params if not p.help] == []
        assert command.help
        assert name in invoke("--help")


class TestTable:
    def test_synthetic_is_the_default(self):
        lines = simulate().splitlines()
        assert lines[0] == "synthetic: best stage 2 of 3, weak dominance holds (ratio 2.00)"
        assert [line.split()[0] for line in lines[1:]] == ["policy", "weak-dominance", "resolve"]
        assert simulate() == simulate("--family", "synthetic", "--costs", "0,.1,0.1")

    def test_what_is_printed_is_what_the_library_says(self):
        text = simulate("--policies", "resolve", "--seed", "4")
        world = nested_errors(sw.Cascade([0, 0.1, 0.1]))
        trace = sw.simulate(world, sw.Resolve, horizon=500, replications=3, seed=4)
        mean, half = trace.mean_regret()[-1], trace.half_width()[-1]
        digits = 1 if mean >= 10 else 3
        assert f"{mean:.{digits}f} ± {half:.{digits}f}" in text

    def test_settings_of_the_family(self):
        text = simulate("--family", "sweep", "--ratio", "0.8,1.2", "--total-cost", "0.3")
        assert "ratio 0.8: best stage 2 of 3, weak dominance does not hold (ratio 0.80)" in text
        assert "ratio 1.2: best stage 2 of 3, weak dominance holds (ratio 1.20)" in text

    def test_a_fixed_stage(self):
        text = simulate(
            "--policies", "fixed-stage:1", "--costs", "0,10,10", "--mistake-cost", "100"
        )
        assert text.splitlines()[-1].split() == [
            *("fixed-stage:1", "100.0", "±", "0.0", "100.0%", "0.0%", "0.0%")
        ]

    @pytest.mark.parametrize("policy", sorted(NAMED_POLICIES))
    def test_every_policy_runs(self, policy):
        assert policy in simulate("--policies", policy)

    def test_a_file(self, cases):
        text = simulate("--csv", str(cases), "--costs", "0,0.1,0.1")
        assert text.startswith("cases: best stage 2 of 3, weak dominance holds")
        subset = simulate("--csv", str(cases), "--costs", "0,.1", "--tests", "first,third")
        assert subset.startswith("cases: best stage 2 of 2")


class TestJson:
    def test_it_is_machine_readable(self):
        data = json.loads(simulate("--json", "--seed", "7"))
        assert (data["version"], data["horizon"], data["seed"]) == (1, 500, 7)
        (world,) = data["environments"]
        assert world["best_stage"] == 1
        assert world["is_weakly_dominant"] is True
        assert [p["policy"] for p in world["policies"]] == ["weak-dominance", "resolve"]
        assert sum(world["policies"][0]["stop_shares"]) == pytest.approx(1)


class TestFiles:
    @pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
    def test_a_figure(self, tmp_path, suffix, start):
        path = tmp_path / f"regret.{suffix}"
        simulate("--figure", str(path), "--family", "indistinguishable")
        assert path.read_bytes().startswith(start)
        assert list(tmp_path.iterdir()) == [path]

    def test_traces(self, tmp_path):
        simulate("--save", str(tmp_path / "new" / "traces"), "--policies", "resolve,fixed-stage:2")
        names = sorted(path.name for path in (tmp_path / "new" / "traces").iterdir())
        assert names == ["synthetic--fixed-stage-2.npz", "synthetic--resolve.npz"]
        trace = sw.Trace.load(tmp_path / "new" / "traces" / names[1])
        world = nested_errors(sw.Cascade([0, 0.1, 0.1]))
        alone = sw.simulate(world, sw.Resolve, horizon=500, replications=3)
        np.testing.assert_array_equal(trace.stops, alone.stops)

    def test_all_or_nothing(self, tmp_path, main, monkeypatch):
        def full(trace, path):
            raise OSError("no space left")

        monkeypatch.setattr(sw.Trace, "save", full)
        figure, save = tmp_path / "f.png", tmp_path / "traces"
        code, out, err = main("simulate", *SHORT, "--figure", figure, "--save", save)
        assert (code, out, err) == (2, "", "stopwise: no space left\n")
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


BAD = [
    (["--family", "sythetic"], "did you mean 'synthetic'?"),
    (["--policies", "weak-dominence"], "did you mean 'weak-dominance'?"),
    (["--policies", ","], "policies must be a mapping from names, not empty"),
    (["--policies", "fixed-stage:9"], "must name one of the 3 stages, got 9"),
    (["--costs", "0,x"], "--costs must look like 6,16,24, got '0,x'"),
    (["--costs", "0,nan,1"], "costs must be >= 0 and finite"),
    (["--mistake-cost", "-2"], "--mistake-cost must be > 0, got -2"),
    (["--costs", "0,0.1"], "error_rates must have one entry per stage"),
    (["--slip", "0.1"], "family 'synthetic' takes"),
    (["--horizon", "0"], "horizon must be a whole number >= 1, got 0"),
    (["--replications", "0"], "replications must be a whole number >= 1, got 0"),
    (["--seed", "-1"], "seed must be a whole number >= 0, got -1"),
    (["--checkpoints", "0"], "checkpoints must be a whole number >= 1, got 0"),
    (["--jobs", "0"], "n_jobs must be"),
    (["--csv", "none.csv", "--costs", "0,1"], "none.csv cannot be read: no such file"),
    (["--csv", "none.csv"], "--csv needs --costs"),
    (["--csv", "none.csv", "--family", "split"], "must not be given together"),
    (["--csv", "none.csv", "--costs", "0", "--slip", "1"], "got 'slip'"),
    (["--figure", "f.txt"], "--figure must end in .pdf, .png, .svg"),
    (["--figure", "nowhere/f.png"], "--figure: the directory nowhere does not exist"),
    (["--save", "taken.txt"], "--save must be a directory, taken.txt is none"),
]


class TestErrors:
    @pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda x: " ".join(x)[:30])
    def test_one_line_and_nothing_written(self, main, tmp_path, monkeypatch, arguments, message):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "taken.txt").write_text("mine")
        code, out, err = main("simulate", "--figure", "a.png", "--save", "traces", *arguments)
        assert code == 2
        assert out == ""
        assert re.fullmatch(r"stopwise: .*\n", err)
        assert message in err
        assert [path.name for path in tmp_path.iterdir()] == ["taken.txt"]

    def test_unknown_options_are_refused(self, main):
        code, _, err = main("simulate", "--horizont", "3")
        assert code == 2
        assert "--horizont" in err

    def test_a_file_without_the_label(self, main, cases):
        code, _, err = main("simulate", "--csv", cases, "--costs", "0,1,1", "--label", "yy")
        assert code == 2
        assert "label of" in err
        assert "must be one of first, second, third, y, got 'yy': did you mean 'y'?" in err

    def test_a_figure_needs_an_extra(self, main, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        code, _, err = main("simulate", "--figure", tmp_path / "f.png")
        assert code == 2
        assert err == "stopwise: --figure needs matplotlib: pip install '.[plot]'\n"


def python(code, *arguments):
    return [sys.executable, "-W", "error", "-c", code, *arguments]


MAIN = "from stopwise.cli import main; main()"


class TestProcess:
    def test_a_real_process(self):
        done = subprocess.run(
            python(MAIN, "simulate", *SHORT, "--json"),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert done.stderr == ""
        assert json.loads(done.stdout) == json.loads(simulate("--json"))

    @pytest.mark.parametrize(
        ("missing", "arguments", "said"),
        [
            ("typer", [], "the command line needs typer: pip install '.[cli]'"),
            ("starlette", ["serve"], "stopwise serve needs starlette: pip install '.[serve]'"),
            ("msgspec", ["serve"], "stopwise serve needs msgspec: pip install '.[serve]'"),
        ],
    )
    def test_the_command_says_what_it_needs(self, missing, arguments, said):
        code = f"import sys; sys.modules[{missing!r}] = None\n{MAIN}"
        command = [*python(code), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2
        assert done.stderr == f"stopwise: {said}\n"

    @pytest.mark.skipif(os.name != "posix", reason="signals")
    @pytest.mark.parametrize(("at", "code", "rows"), [(0, 130, 0), (2, 130, 1)])
    def test_ctrl_c_shows_what_is_done(self, at, code, rows):
        with subprocess.Popen(
            python(SLEEPER, str(at)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout.readline() == "asleep\n"
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=30)
        assert child.returncode == code
        assert out.count("sleepy") == rows
        assert "Traceback" not in err
        if rows:
            assert err == "stopwise: interrupted after 2 of 20 replications\n"


# A policy that sleeps in one of its replications until somebody presses Ctrl-C.
SLEEPER = """
import signal, sys, time
import stopwise as sw
from stopwise.cli import main
from stopwise.simulation.names import NAMED_POLICIES

signal.signal(signal.SIGINT, signal.default_int_handler)
at = int(sys.argv[1])


class Sleepy(sw.FixedStage):
    def reseed(self, seed):
        if seed.bit_generator.seed_seq.entropy == [0, at]:
            print("asleep", flush=True)
            time.sleep(60)


NAMED_POLICIES["sleepy"] = Sleepy
sys.argv = ["stopwise", "simulate", "--horizon", "10", "--policies", "sleepy"]
main()
"""


class TestTrees:
    TREE = ("--costs", "0,.1,.1,.2", "--error-rates", ".4,.3,.2,.1")

    def test_a_tree_is_played(self):
        text = simulate(*self.TREE, "--parents", "0,1,1,3", "--policies", "resolve,thompson")
        assert "best stage 3 of 4" in text
        assert "thompson" in text

    def test_a_table_may_be_a_tree(self, cases):
        text = simulate("--csv", str(cases), "--costs", "0,.1,.1", "--parents", "0,1,1")
        assert "of 3" in text

    @pytest.mark.parametrize(
        ("parents", "message"),
        [
            ("0,1,x,3", "--parents must be numbers of tests, as in 0,1,1,3, got '0,1,x,3'"),
            ("1,1,1,1", "0 for the first test and an earlier one for each other, got 1 for test 1"),
            ("0,1,1,4", "got 4 for test 4"),
            ("0,0,1,1", "got 0 for test 2"),
            ("0,1,1", "parents must have one entry per test, got 3 for 4 costs"),
        ],
    )
    def test_bad_parents(self, main, parents, message):
        code, out, err = main("simulate", *self.TREE, "--parents", parents)
        assert code != 0
        assert out == ""
        assert message in err
