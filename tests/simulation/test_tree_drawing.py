"""The picture of a tree shows the shares that went each way."""

import numpy as np
import pytest

import stopwise as sw
from stopwise.problem.families import nested_errors
from stopwise.simulation.tree_drawing import draw_tree

figures = pytest.importorskip("matplotlib.figure")

TREE = sw.Cascade(
    [0, 0.1, 0.1, 0.1], names=["ask", "blood", "scan", "biopsy"], parents=[None, 0, 0, 2]
)


def axes():
    return figures.Figure().subplots()


def texts(axis):
    return [text.get_text() for text in axis.texts]


def test_edges_carry_all_that_passes_and_tests_what_stops():
    axis = axes()
    draw_tree(axis, TREE, np.array([0.1, 0.245, 0.655, 0.0]), colour="#000000", best=1)
    assert texts(axis)[:3] == ["24 %", "66 %", "0 %"]
    assert texts(axis)[3:] == [
        "ask\n10 % stop",
        "blood\n24 % stop",
        "scan\n66 % stop",
        "biopsy\n0 % stop",
    ]


def test_a_few_cases_are_not_none():
    axis = axes()
    draw_tree(axis, TREE, np.array([0.996, 0.0, 0.0, 0.004]), colour="#000000")
    assert texts(axis)[:3] == ["0 %", "<1 %", "<1 %"]


def test_filled_is_where_most_stopped_and_ringed_what_is_best():
    axis = axes()
    draw_tree(axis, TREE, np.array([0.1, 0.2, 0.7, 0.0]), colour="#123456", best=1)
    rings = [line for line in axis.lines if line.get_fillstyle() == "none"]
    assert len(rings) == 1
    marks = [line for line in axis.lines if line.get_marker() == "o" and line not in rings]
    filled = [k for k, mark in enumerate(marks) if mark.get_markerfacecolor() == "#123456"]
    assert filled == [2]
    assert rings[0].get_xydata().tolist() == marks[1].get_xydata().tolist()


def test_no_two_tests_lie_on_each_other():
    rng = np.random.default_rng(0)
    for _ in range(20):
        parents = [None, *(int(rng.integers(k)) for k in range(1, 9))]
        tree = sw.Cascade([0.1] * 9, parents=parents)
        axis = axes()
        draw_tree(axis, tree, np.full(9, 1 / 9), colour="#000000")
        places = {tuple(line.get_xydata()[0]) for line in axis.lines if line.get_marker() == "o"}
        assert len(places) == 9


def test_a_trace_draws_itself():
    world = nested_errors(TREE, [0.4, 0.3, 0.1, 0.05])
    trace = sw.simulate(world, sw.Resolve, horizon=500, replications=2, seed=0)
    axis = trace.plot_tree(axes())
    assert axis.get_title() == "Resolve"
    assert len(axis.texts) == 7
