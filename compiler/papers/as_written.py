"""``optimus-as-written``, ``optimus-online-as-written`` and ``dnnvm-as-written``: the papers with their own cost models.

They choose groups by the formulas of their papers (``compiler/papers``), not by the planner. Each minimises the one quantity
that its paper has, whatever the objective: Optimus bytes, DNNVM time. The machine then executes these groups with the planner's
tiles, and the partition's value is that of this execution. ``choose_optimus`` and its like give the value of the paper's own
formula. If the formula allows a group that no plan fits, the choice is made again without it.

With other costs of groups, from a measure (DNNVM section 5.1) or an accelerator of Optimus' table 4, they choose by these costs
and by the objective, among the same groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from compiler.fusion.grow import grow
from compiler.fusion.legal import Mask, OpSets
from compiler.fusion.templates import PAPER_TEMPLATES
from compiler.papers.dnnvm.shortest_paths import dnnvm_among
from compiler.papers.modelled import Model, Modelled, dnnvm_model, optimus_model
from compiler.papers.optimus.online_table import TableFile, make_table, most_operations, table_key
from compiler.planning.objective import CYCLES, DRAM, Cost, Objective
from compiler.search.cost import Evaluator
from compiler.search.partition import LeftOut, Partition, left_out_of, made_of
from compiler.search.pricing import partition_into, priced, saving_over_alone
from compiler.xgraph.graph import XGraph

MOST_OPS = 20
"""The most operations of a group. The paper has no limit; if a formula allows longer ones, the result is not called exact."""
MOST_OF_A_SIZE = 400
"""The most groups of equal size for which the formula is computed."""

Choice = Callable[[Modelled, Objective], Partition]
"""Chooses a partition by the costs of groups in the evaluator; its value is that of the objective."""


def optimus_as_written(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    return executed(evaluator, objective, optimus_model, DRAM, choose_optimus)


def optimus_online_as_written(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    return executed(evaluator, objective, optimus_model, DRAM, choose_online)


def dnnvm_as_written(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    return executed(evaluator, objective, dnnvm_model, CYCLES, choose_dnnvm)


def executed(evaluator: Evaluator, objective: Objective, model: Model, least: Objective, choice: Choice) -> Partition:
    """The partition that the formula chooses among the groups that the planner can execute, with the cost of this execution.

    ``least`` is the objective of the paper.
    """
    if isinstance(evaluator, Modelled):
        return choice(evaluator, objective)
    if evaluator.measure is not None:
        model, least = by_measure(evaluator, objective), objective
    modelled = modelled_like(evaluator, model)
    while True:
        chosen = choice(modelled, least)
        masks = [modelled.sets.mask(group) for group in chosen.groups]
        unfit = {mask for mask in masks if mask.bit_count() > 1 and evaluator.cost_of(mask, objective) is None}
        if not unfit:
            return made_of(evaluator, objective, masks, left_out=chosen.left_out)
        modelled.refused |= unfit


def by_measure(evaluator: Evaluator, objective: Objective) -> Model:
    """A model that returns the evaluator's costs in place of a formula's."""

    def cost(_: Modelled, mask: Mask) -> Cost | None:
        return evaluator.cost_of(mask, objective)

    return cost


def modelled_like(evaluator: Evaluator, model: Model) -> Modelled:
    """An evaluator with this model for the same graph and machine; it shares ``sets``, which has decisions of schedules."""
    made = Modelled(evaluator.config, evaluator.graph, evaluator.database, told=evaluator.told, model=model)
    made.sets = evaluator.sets
    return made


def choose_optimus(modelled: Modelled, objective: Objective = DRAM) -> Partition:
    """Algorithm 1 with equation 3. Operations on the same input depend on the same data (section 6), so a group may have
    both."""
    sets = modelled.sets
    grown = grow(sets, sets.joins, MOST_OPS, MOST_OF_A_SIZE, saving_over_alone(modelled, objective))
    prices = priced(modelled, objective, grown.groups)
    return partition_into(modelled, objective, prices, complete=grown.all, left_out=left_out_of(grown))


def choose_online(modelled: Modelled, objective: Objective = DRAM) -> Partition:
    """Algorithm 3: the same, with groups no larger than the table allows, that have all readers of a map or none."""
    sets = modelled.sets
    most = most_operations(table_of(modelled), modelled.machine.maps)
    grown = grow(sets, sets.joins, most, MOST_OF_A_SIZE, lambda mask: 0)
    groups = [mask for mask in grown.groups if mask.bit_count() == 1 or sets.keeps_readers_together(mask)]
    # The table, not a cap, leaves out groups that are longer than it allows.
    left_out = LeftOut(grown.left_out, grown.longer if most >= MOST_OPS else 0, MOST_OPS)
    return partition_into(modelled, objective, priced(modelled, objective, groups), left_out=left_out)


def table_of(modelled: Modelled) -> Sequence[int]:
    """The look-up table. If ``tilewright table`` has not built it beforehand, it is built now, and stored if possible."""
    key = _key(modelled)
    if key not in modelled.tables:
        kept = kept_tables(modelled)
        found = None if kept is None else kept.get(key)
        if found is None:
            modelled.told("search: the look-up table of optimus-online-as-written, which `tilewright table` builds beforehand")
            with suppress(OSError):
                build_table(modelled)
        else:
            modelled.tables[key] = found
    return modelled.tables[key]


def build_table(modelled: Modelled) -> Sequence[int]:
    """Builds the table by Algorithm 3, and stores it where ``table_of`` finds it, in place of an older one."""
    # The table covers all groups: decisions of a schedule are no property of the network.
    sets = OpSets(modelled.graph, modelled.sets.joined)
    key, kept = _key(modelled), kept_tables(modelled)
    table = make_table(sets, modelled.machine, MOST_OPS, MOST_OF_A_SIZE, modelled.shapes.key)
    modelled.tables[key] = table
    if kept is not None:
        kept.put(key, table)
    return table


def kept_tables(modelled: Modelled) -> TableFile | None:
    """The file of tables, beside the databases of all configurations: a table does not depend on the sizes of buffers."""
    return None if modelled.database is None else TableFile(modelled.database.path.parents[1] / "optimus_tables.json")


def _key(modelled: Modelled) -> str:
    return table_key(modelled.machine, modelled.shapes.digest(modelled.sets.everything))


def choose_dnnvm(modelled: Modelled, objective: Objective = CYCLES) -> Partition:
    """Algorithm 2 over the templates of figure 3."""
    return dnnvm_among(modelled, objective, PAPER_TEMPLATES)
