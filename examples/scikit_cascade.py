"""A cascade of scikit-learn classifiers on real data: breast tumours, 569 cases of 30 measurements.

The classifiers are trained on 150 labelled cases. How far to go with each further case is learned
from half of the others without any label; the labels of the rest only check the outcome.

    python -m examples.scikit_cascade
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from stopwise.integrations.scikit_learn import CascadeClassifier

COSTS = [0, 1, 4]
MISTAKE_COST = 50


def main() -> None:
    """Print what each classifier and the cascade cost per case, mistakes included."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, seen, test = np.split(order, [150, 360])
    models = [
        ("stump", DecisionTreeClassifier(max_depth=1, random_state=0)),
        ("linear", make_pipeline(StandardScaler(), LogisticRegression())),
        ("forest", RandomForestClassifier(100, random_state=0)),
    ]
    for _, model in models:
        model.fit(X[train], y[train])
    cascade = CascadeClassifier(models, COSTS, mistake_cost=MISTAKE_COST).fit(X[seen])
    cumulative = np.cumsum(COSTS)
    for stage, (name, model) in enumerate(models):
        wrong = np.mean(model.predict(X[test]) != y[test])
        print(f"always up to {name:8s} {wrong:6.1%} wrong, {cumulative[stage]:5.2f} paid per case, "
              f"{cumulative[stage] + MISTAKE_COST * wrong:5.2f} in all")  # fmt: skip
    wrong = np.mean(cascade.predict(X[test]) != y[test])
    cost = cumulative[cascade.predict_stages(X[test])].mean()
    print(f"the cascade           {wrong:6.1%} wrong, {cost:5.2f} paid per case, "
          f"{cost + MISTAKE_COST * wrong:5.2f} in all")  # fmt: skip


if __name__ == "__main__":
    main()
