"""Patients for whom different stages are best, learned without a label: a table and a figure."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure

import stopwise as sw
from stopwise.problem.contextual_laws import NestedErrors

CASCADE = sw.Cascade(
    costs=[0, 2, 3], mistake_cost=20, names=["questionnaire", "blood test", "scan"]
)
SHADES = ["#D9E8F5", "#6BAED6", "#08519C"]


def hidden_world() -> sw.ContextualInstance:
    """Two things are known of a patient, age and a risk score, both scaled to [-1, 1].

    With age the blood test corrects more of the first answers, with risk the scan corrects more of
    the second ones. The learner is not told so.
    """
    corrected = [[-2.2, 1.8, 0.3], [-2.4, 0.2, 1.9]]  # log odds: constant, age, risk
    return sw.ContextualInstance(NestedErrors(corrected), CASCADE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=20_000)
    parser.add_argument("--replications", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("contextual.png"))
    args = parser.parse_args()

    world = hidden_world()
    describe(play(world, 3_000))

    figure = Figure(figsize=(11, 3.9), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    print(f"\nafter {args.horizon} cases{'':17s} regret   share of cases stopped at")
    policies = [
        lambda cascade: sw.ContextualResolve(cascade, 2),
        lambda cascade: sw.ContextualWeakDominance(cascade, 2),
        lambda cascade: sw.ContextualThompson(cascade, 2, seed=0),
        sw.Resolve,  # does not look at the patient
        lambda cascade: sw.FixedStage(cascade, stage=world.best_fixed_stage),
    ]
    for policy in policies:
        trace = sw.simulate(
            world, policy, horizon=args.horizon, replications=args.replications, seed=0
        )
        shares = "  ".join(
            f"{name} {share:4.0%}"
            for name, share in zip(CASCADE.names, trace.stop_shares(), strict=True)
        )
        mean, half = trace.mean_regret()[-1], trace.half_width()[-1]
        print(f"{trace.policy:24s} {mean:7.1f} ± {half:5.1f}   {shares}")
        trace.plot(left)
    left.set(title="five policies, no labels", yscale="log", xlim=(10, None), ylim=(1, None))
    left.legend(fontsize=7, frameon=False)

    grid = np.linspace(-1, 1, 81)
    contexts = np.array([[age, risk] for risk in grid for age in grid])
    policy = play(world, args.horizon)
    stages = [policy.recommend(context) for context in contexts]
    draw_map(figure, middle, grid, np.array(stages), f"learned from {args.horizon} cases")
    draw_map(figure, right, grid, world.best_stages(contexts), "the truth", legend=True)
    figure.savefig(args.out, dpi=150)
    print(f"\nThe picture is in {args.out}: regret over time, and where to stop by age and risk.")


def play(world: sw.ContextualInstance, n: int) -> sw.ContextualResolve:
    """The loop of a user: ask with what is known of the patient, tell what the tests said."""
    policy = sw.ContextualResolve(CASCADE, n_features=2)
    cases = world.draw(n, np.random.default_rng(1))
    for patient, outputs in zip(cases.contexts, cases.outputs, strict=True):
        stage = policy.ask(patient)
        policy.tell(outputs[: stage + 1], patient)
    return policy


def describe(policy: sw.ContextualResolve) -> None:
    print(f"After {policy.n_rounds} patients, where to stop and how often tests would disagree:")
    for age in (-0.8, 0.8):
        for risk in (-0.8, 0.8):
            p = policy.disagreement([age, risk])
            stage = CASCADE.names[policy.recommend([age, risk])]
            print(
                f"  age {age:+.1f}, risk {risk:+.1f}: stop at the {stage:13s}"
                f" 1-2 {p[0, 1]:4.0%}, 2-3 {p[1, 2]:4.0%}"
            )


def draw_map(figure, axis, grid, stages, title, *, legend=False) -> None:
    colours = ListedColormap(SHADES)
    image = axis.pcolormesh(
        grid,
        grid,
        stages.reshape(len(grid), len(grid)),
        cmap=colours,
        norm=BoundaryNorm([-0.5, 0.5, 1.5, 2.5], 3),
        rasterized=True,
    )
    axis.set(title=title, xlabel="age (scaled)", ylabel="risk (scaled)", aspect="equal")
    if legend:
        bar = figure.colorbar(image, ax=axis, ticks=[0, 1, 2], shrink=0.8)
        bar.ax.set_yticklabels(CASCADE.names)


if __name__ == "__main__":
    main()
