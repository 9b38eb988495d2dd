"""Policies that break their contract, and runs that are interrupted."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import stopwise as sw
from tests.policies.contextual_helpers import nested_world
from tests.simulation.test_simulator import CASCADE, Custom, run


class Answers(Custom):
    """Answers what it was made with."""

    def __init__(self, cascade, stage=1, hold=1):
        super().__init__(cascade)
        self.answer = stage, hold

    def ask(self):
        return self.answer[0]

    def hold(self):
        return self.answer[1]


class Broken(Custom):
    def _decide(self):
        raise ZeroDivisionError("by design")


class TestPoliciesThatBreakTheirContract:
    @pytest.mark.parametrize("stage", [3, -1, 1.0, None, "2"])
    def test_a_stage_that_there_is_not_is_refused(self, stage):
        with pytest.raises(sw.errors.PolicyError, match=r"Answers.ask must return a stage from 0"):
            run(Answers(CASCADE, stage))

    @pytest.mark.parametrize("stage", [3, -1])
    def test_in_a_world_with_contexts_too(self, stage):
        world = nested_world(3, 2, seed=1)
        with pytest.raises(sw.errors.PolicyError, match=r"Answers.ask must return a stage from 0"):
            run(Answers(world.cascade, stage), environment=world)

    @pytest.mark.parametrize("hold", [0, -5, 2.5, None])
    def test_a_decision_that_holds_for_no_round_is_refused(self, hold):
        with pytest.raises(sw.errors.PolicyError, match=r"Answers.hold must return rounds >= 1"):
            run(Answers(CASCADE, 1, hold))

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_an_error_is_raised_as_it_is_and_says_whose_it_is(self, n_jobs):
        with pytest.raises(ZeroDivisionError, match="by design") as caught:
            run(Broken, n_jobs=n_jobs)
        assert "raised while Broken was simulated" in caught.value.__notes__


class Impatient(Custom):
    """Presses Ctrl-C as a given replication starts, counted from 1."""

    started = 0
    at = 3

    def reseed(self, seed):
        type(self).started += 1
        if type(self).started == self.at:
            raise KeyboardInterrupt


class TestInterruption:
    def test_ctrl_c_returns_what_is_done(self, monkeypatch):
        monkeypatch.setattr(Impatient, "started", 0)
        trace = run(Impatient, replications=5)
        assert trace.n_replications == 2
        assert trace.is_interrupted
        np.testing.assert_array_equal(trace.stops, run(Custom, replications=2).stops)
        assert not run().is_interrupted

    def test_ctrl_c_before_the_first_replication_is_ctrl_c(self, monkeypatch):
        monkeypatch.setattr(Impatient, "started", 0)
        monkeypatch.setattr(Impatient, "at", 1)
        with pytest.raises(KeyboardInterrupt):
            run(Impatient)

    @pytest.mark.skipif(os.name != "posix", reason="signals are sent to a group of processes")
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_a_real_signal(self, n_jobs, tmp_path):
        with subprocess.Popen(
            [sys.executable, "-W", "error", "-c", SLEEPER, str(n_jobs), str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as child:
            assert child.stdout.readline() == "asleep\n"
            time.sleep(0.5)  # for the results of the first replications to arrive
            os.killpg(child.pid, signal.SIGINT)
            out, errors = child.communicate(timeout=30)
        assert child.returncode == 0
        assert out.splitlines()[-1] == "2 True"
        # The workers of joblib get the signal too and may say so as they go.
        assert n_jobs > 1 or errors == ""


# Sleeps in the third replication, once the first two are under way, until somebody presses Ctrl-C.
SLEEPER = """
import signal, sys, time
from pathlib import Path
import stopwise as sw
from stopwise.problem.families import nested_errors

signal.signal(signal.SIGINT, signal.default_int_handler)


class Sleepy(sw.FixedStage):
    def reseed(self, seed):
        _, replication = seed.bit_generator.seed_seq.entropy
        Path(sys.argv[2], str(replication)).touch()
        if replication == 2:
            while not all(Path(sys.argv[2], r).exists() for r in "01"):
                time.sleep(0.01)
            print("asleep", flush=True)
            time.sleep(60)


cascade = sw.Cascade([0, 0.1])
world = nested_errors(cascade, [0.3, 0.1])
trace = sw.simulate(world, Sleepy(cascade, stage=0), horizon=10, n_jobs=int(sys.argv[1]))
print(trace.n_replications, trace.is_interrupted)
"""
