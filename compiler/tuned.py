"""The compiler's tuned numbers: all numbers that were chosen by their effect on networks.

They were chosen with the tuning set of ``python -m bench.hold_out`` (ResNet-50, MobileNetV2, GoogLeNet and SqueezeNet, on
``base`` and ``zu9``). A change is kept if it is worth its price in the mean of the hold-out set, which that command measures.
A number that bounds the time of a search changes no program if the search ends before. How much each effort does stands in
``compiler/search/effort.py``.
"""

# Partitions whose programs are timed (compiler/programs/fastest.py).

CHARGES = (0, 1, -1, 300, -300)
"""The cycles that are added to the cost of each group to get other partitions. A group hides a part of its neighbours' time, or
waits for them. With one cycle, among partitions of equal cost the one with fewer, or with more, groups is found."""
SHORT_OPS = 6
"""The most operations of the short groups that are planned before partitions are timed, besides those that promised most."""
MARGIN = 1 / 7
"""A partition is not timed if the sum of its groups' cycles exceeds the least sum by this part. Two sums of one network were
off by up to 11 % more or less than each other."""
LEAN_PART = 10 / 3
"""The factor by which fewer groups are planned for bytes than for cycles."""

# Schemes of the groups that wait (compiler/programs/program_schemes.py).

SCHEME_CHOICES = 6
"""The most choices of schemes that are timed. Most networks take three until a choice comes again."""
DEAREST_SCHEME = 1.3
"""A scheme is left out if its cycles exceed those of its group's best plan by this factor."""
MOST_PASSES = 4
"""A scheme has at most this many passes over channels, or as many as the best plan."""
THINNED = 1.25
"""Each number of steps that schemes may have is at least this factor times the one before."""

# Groups that are planned, and partitions of them (compiler/search).

MOST_SEARCHED = 2_500
"""The most operations of a graph that is searched. The time of a search is about in proportion to them. A larger graph gets
the groups of ``greedy``, which takes as long as to emit them."""
CROWD = 16
"""If more operations than this read one map, only neighbours among them form groups. Subsets are too many, and alike."""
MOST_PROMISING_OPS = 16
"""The most operations of a group, for cycles. Longer ones gain some tenths of a percent on ``zu9`` and take longer to plan."""
SHAPES_AT_ONCE = 64
"""The shapes of groups that are planned before the worth of each operation is computed again."""
ROUNDS = 32
"""At least one in this many of all shapes to be planned is planned at once, so that worths are not computed too often."""
PLACES = 32
"""The most places, in the mean, at which groups of one shape are planned. Networks have fewer; a graph that repeats itself
everywhere has more."""
SLACK = 1 / 10
"""A group is planned even if its hope exceeds the worth of its operations, if by less than this part of an operation's mean
cost. Worths change, so it may promise something later."""
ANYWAY = 100
"""The number of groups that are planned whatever they promise: all groups of a small graph."""
MOST_OPS = 10
"""The most operations of a group where groups are weighed size by size. Longer ones seldom fit, and hardly save more."""
MOST_STATES = 60
"""The most sets with the same first uncovered operation that dynamic programming keeps. If there are no more, it is exact."""
NODES = 2000
"""The most nodes of HiGHS' tree in one solution of the set partition. No network needs as many."""
CIRCLE_ROUNDS = 50
"""The most solutions of the set partition. If groups wait for each other in all of them, it is given up."""
CIRCLE_WAYS = 400
"""The most ways in which groups wait for each other that are looked at. The one that forbids most is taken."""

# Groups that several cores share (compiler/planning/shards.py).

PHASE_CYCLES = 1000
"""The cycles between the end of a program on all cores and the start of the next: an interrupt, and a few registers of each
core. A group that saves less runs on one core."""

# How a group is executed (compiler/planning, compiler/layers).

STRIDE = 1.5
"""The factor between numbers of steps that are looked at, among those that could do equally well."""
NEAR = 1 + 1 / 64
"""A pipelined plan within this factor of the lower bound of all plans is not compared with the sequential one."""
SHARES = (3, 5, 8, 16)
"""The numbers of parts into which the room for parameters is cut. Streamed blocks take two parts: one is loaded while one is
used. In the other parts blocks stay. Small blocks let more stay, but each costs an instruction in every step."""
EDGE_PIECES = 4
"""The pieces in which the rows of a step are loaded, saved, and made at its edges. So computation starts when the first piece
is loaded, and saves begin before it has ended."""
LONG_ROW = 64
"""A map of one row is cut into rows if it has more pixels than this."""
SHORT_ROW = 4
"""One long row is cut into rows of at least this many pixels: shorter ones cost more bursts than tiling saves."""
POOL_IS_BUSY = 4
"""POOL counts as busy in a group if CONV has at most this many times its beats."""
SLAB_CHOICES = 200
"""The most choices of the search for offsets of maps that share words."""
LEAST_POOL_PIECE = 512
"""The fewest cycles of a piece of a pooled row, because each piece costs an instruction."""
MOST_POOL_PIECES = 16
"""The most pieces of a pooled row."""

# Instructions (compiler/emit, compiler/instructions).

WINDOW = 48
"""The most instructions of its own unit that one may overtake. More finds little, and costs time."""
LOAD_PIECES = 16
"""The number of loads that fill a whole parameter buffer. So the first words need not wait until the last ones are free."""
LEAST_LOAD_BYTES = 16384
"""The fewest bytes of such a load. Below this DRAM's bursts lose more than a hundredth."""

# Orders and places of feature maps (compiler/programs, compiler/memory).

MOST_LOSS = 0.01
"""The part of the cycles that another order, or other places, may cost for less DRAM."""
LIMIT_TRIES = 8
"""The limits of groups that are tried for one limit of the whole program, if branches need more than their groups."""
BANDS = (0, 1, 4, 16)
"""The numbers of bands in which groups are computed that do not fit row by row. 0: no such groups. More bands save little."""
DULL_LIMITS = 12
"""The curve of cycles against DRAM ends after this many limits in a row without a new point."""
FAVOUR = 4
"""Under a limit, a group of the given program counts as cheaper by this power of two: such groups do well together."""
MOST_FUSED_TASKS = 16
"""The most tasks that are fused to one at a time. Larger ones come about step by step."""
MOST_FUSED_SETS = 2000
"""The most closed sets of tasks that are looked at for one fusion."""
PART = 40
"""The most tasks of a part of a graph that is too large to be ordered as a whole."""
PARTS = 5
"""The number by which the effort of an order is divided to order one part."""
MOST_ORDER_STATES = 400_000
"""The most states of the search for one order, which take some seconds."""
PACKING_CHOICES = 40_000
"""The most choices of the search for places below one ceiling, which take some seconds."""
FIRST_PACKING_CHOICES = 500
"""The choices before places are tried in another order. After all orders, there are four times as many."""
OVERLAY_VISITS = 2_000_000
"""The most neighbours that are looked at in all rounds of one order, which take a second."""
OVERLAY_ROUNDS = 100
"""The most rounds from one order. In each round the block that lay highest is placed first."""
