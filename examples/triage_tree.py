"""A triage that branches: which way to go and where to stop, learned without a right answer.

Needs the extras sim and plot: python examples/triage_tree.py --out triage_tree.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

from matplotlib.figure import Figure

import stopwise as sw
from stopwise.problem.families import relaxed_errors

# After the questions a patient may go one of three ways. Prices in dollars; a mistake costs 1,000.
TREE = sw.Cascade(
    costs=[0, 400, 200, 100, 250, 500, 200],
    mistake_cost=1000,
    names=["questions", "blood test", "culture", "X-ray", "CT", "ECG", "stress test"],
    parents=[None, 0, 1, 0, 3, 0, 5],
)
# The hidden truth, for the demonstration: no policy ever sees it.
TRUTH = relaxed_errors(TREE, [0.4, 0.3, 0.2, 0.1, 0.05, 0.3, 0.1])


def learn_online(n_cases: int) -> sw.Resolve:
    """What a hospital's program would do: ask where to stop, run that path, tell its outputs."""
    policy = sw.Resolve(TREE)
    _, outputs = TRUTH.sample(n_cases, 0)
    for patient in outputs.tolist():
        test = policy.ask()
        policy.tell([patient[k] for k in TREE.path(test)], stage=test)
    return policy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=20_000)
    parser.add_argument("--replications", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("triage_tree.png"))
    args = parser.parse_args()

    policy = learn_online(5_000)
    best = TREE.names[policy.recommend()]
    print(f"After 5,000 patients: stop at {best!r}. It rests on these comparisons:")
    print(policy.certificate())

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for rule in (sw.Resolve, lambda tree: sw.Thompson(tree, seed=0), sw.WeakDominance):
        trace = sw.simulate(
            TRUTH, rule, horizon=args.horizon, replications=args.replications, seed=1
        )
        trace.plot(right)
        print(f"{trace.policy:14} regret {trace.mean_regret()[-1]:7.1f} mistakes")
        if trace.policy == "Resolve":
            trace.plot_tree(left)
    right.set_title("what learning cost")
    left.set_title("where Resolve sends the cases; ringed: the best test", fontsize=10)
    figure.savefig(args.out, dpi=150)
    print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
