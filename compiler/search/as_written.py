"""``optimus-as-written``, ``optimus-online-as-written`` and ``dnnvm-as-written``: the papers with their own cost models.

They choose groups by the formulas of their papers (``compiler/papers``), not by our planner, and each by the one measure that
its paper has, whatever the objective: Optimus by bytes, DNNVM by time. What they choose our machine then executes with our
planner's tiles, and that is what the partition's value says; ``choose_optimus`` and its like give it the value of the paper's
own formula. A group that the formula allows and no plan of ours fits is taken from the choice, and it is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.fusion.grow import grow
from compiler.fusion.templates import PAPER_TEMPLATES
from compiler.papers.modelled import Model, Modelled, dnnvm_model, optimus_model
from compiler.papers.online_table import TableFile, keeps_readers_together, make_table, most_operations, table_key
from compiler.planning.objective import CYCLES, DRAM, Objective
from compiler.search.cost import Evaluator
from compiler.search.dnnvm import dnnvm_among
from compiler.search.optimus import partition_into, priced, saving_over_alone
from compiler.search.partition import LeftOut, Partition, left_out_of, made_of
from compiler.xgraph.graph import XGraph

MOST_OPS = 20
"""Operations in a group. The paper has no such limit; where a formula allows longer ones, the result is not called exact."""
MOST_OF_A_SIZE = 400
"""Groups of equal size that the formula is asked of."""

Choice = Callable[[Modelled], Partition]
"""A partition by a paper's formula, of its value."""


def optimus_as_written(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    return executed(evaluator, objective, optimus_model, choose_optimus)


def optimus_online_as_written(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    return executed(evaluator, objective, optimus_model, choose_online)


def dnnvm_as_written(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    return executed(evaluator, objective, dnnvm_model, choose_dnnvm)


def executed(evaluator: Evaluator, objective: Objective, model: Model, choice: Choice) -> Partition:
    """The choice by the formula, of groups that our planner can execute, as it executes them."""
    modelled = modelled_like(evaluator, model)
    while True:
        chosen = choice(modelled)
        masks = [modelled.sets.mask(group) for group in chosen.groups]
        unfit = {mask for mask in masks if mask.bit_count() > 1 and evaluator.cost_of(mask, objective) is None}
        if not unfit:
            return made_of(evaluator, objective, masks, left_out=chosen.left_out)
        modelled.refused |= unfit


def modelled_like(evaluator: Evaluator, model: Model) -> Modelled:
    """For the same graph and machine; schedules' decisions are kept, for they are in ``sets``."""
    made = Modelled(evaluator.config, evaluator.graph, evaluator.database, model=model)
    made.sets = evaluator.sets
    return made


def choose_optimus(modelled: Modelled) -> Partition:
    """Algorithm 1 with equation 3. Who shares an input depends on the same data (section 6), so it may be in one group."""
    sets = modelled.sets
    grown = grow(sets, sets.joins, MOST_OPS, MOST_OF_A_SIZE, saving_over_alone(modelled, DRAM))
    prices = priced(modelled, DRAM, grown.groups)
    return partition_into(modelled, DRAM, prices, complete=grown.all, left_out=left_out_of(grown))


def choose_online(modelled: Modelled) -> Partition:
    """The same, of groups that are no larger than the table allows, and keep all readers of a map together or apart."""
    sets = modelled.sets
    most = most_operations(table_of(modelled), modelled.machine.maps)
    grown = grow(sets, sets.joins, most, MOST_OF_A_SIZE, lambda mask: 0)
    groups = [mask for mask in grown.groups if mask.bit_count() == 1 or keeps_readers_together(sets, mask)]
    # Longer ones than the table allows are left out by the table, not by a cap.
    left_out = LeftOut(grown.left_out, grown.longer if most >= MOST_OPS else 0, MOST_OPS)
    return partition_into(modelled, DRAM, priced(modelled, DRAM, groups), left_out=left_out)


def table_of(modelled: Modelled) -> Sequence[int]:
    """Looked up; made if this network was never asked about on such a machine."""
    sets, shapes = modelled.sets, modelled.shapes
    kept = None if modelled.database is None else TableFile(modelled.database.path.parents[1] / "optimus_tables.json")
    key = table_key(modelled.machine, shapes.digest(sets.everything))
    table = modelled.tables.get(key) or (None if kept is None else kept.get(key))
    if table is None:
        table = make_table(sets, modelled.machine, MOST_OPS, MOST_OF_A_SIZE, shapes.key)
        if kept is not None:
            kept.put(key, table)
    modelled.tables[key] = table
    return table


def choose_dnnvm(modelled: Modelled) -> Partition:
    """Algorithm 2 over the templates of its figure 3."""
    return dnnvm_among(modelled, CYCLES, PAPER_TEMPLATES)
