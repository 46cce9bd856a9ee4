"""The compiler's tuned numbers: all that were chosen by looking at what they make of networks.

They were chosen with the tuning set of ``python -m bench.hold_out`` (ResNet-50, MobileNetV2, GoogLeNet and SqueezeNet, on
``base`` and ``zu9``). A change is kept if it is worth its price in the mean of the hold-out set, which that command measures.
A number that bounds the time of a search changes no program if the search ends before. How much each effort does stands in
``compiler/search/effort.py``.
"""

# Partitions whose programs are timed (compiler/programs/fastest.py).

CHARGES = (0, 1, -1, 300, -300)
"""Cycles by which each group is made dearer, or cheaper, to have another partition. A group hides something of its neighbours,
or waits for them; with one cycle, the partition with fewer, or more, of those that cost the same is found."""
SHORT_OPS = 6
"""Groups of so few operations join those that promised most before partitions are timed: what promises most is hoped for."""
MARGIN = 1 / 7
"""A partition is not timed if its groups cost so much more than the least sum of cycles. Two sums of one network were off by
up to 11 % more or less than each other."""
LEAN_PART = 10 / 3
"""For bytes, fewer groups are planned than for cycles, by this factor."""

# Schemes of the groups that wait (compiler/programs/program_schemes.py).

SCHEME_CHOICES = 6
"""Choices of schemes that are timed at most. Most networks take three until a choice comes again."""
DEAREST_SCHEME = 1.3
"""A scheme is left out if its cycles exceed those of its group's best plan by this factor."""
MOST_PASSES = 4
"""A scheme has at most this many passes over channels, or as many as the best plan."""
THINNED = 1.25
"""Each number of steps that schemes may have is at least this factor times the one before."""

# Groups that are planned, and partitions of them (compiler/search).

MOST_SEARCHED = 2_500
"""Operations of a graph that is searched; a search takes time about in proportion to them. A larger graph gets the groups of
``greedy``, which takes as long as to emit them."""
CROWD = 16
"""Operations that read one map, beyond which only neighbours among them form groups: all subsets are too many, and alike."""
MOST_PROMISING_OPS = 16
"""Operations of a group, for cycles. Longer groups gain some tenths of a percent on ``zu9`` and take longer to plan."""
SHAPES_AT_ONCE = 64
"""Shapes of groups that are planned before the worth of each operation is told anew."""
ROUNDS = 32
"""More shapes at once, where the worth of each operation would be told anew more often than this."""
PLACES = 32
"""Places of a shape, in the mean, where groups of it are planned: more than networks have, fewer than a graph has that repeats
itself everywhere."""
SLACK = 1 / 10
"""A group is planned although it is hoped to cost more than its operations are worth, if by less than this part of an
operation's mean cost: the hope may be too small, and worths change."""
ANYWAY = 100
"""So many groups are planned whatever they promise: all of a small graph."""
MOST_OPS = 10
"""Operations of a group where groups are weighed size by size. Longer ones seldom fit, and hardly save more."""
MOST_STATES = 60
"""Sets with the same first uncovered operation that dynamic programming follows up; with no more, its result is exact."""
NODES = 2000
"""Nodes of HiGHS' tree in one solution of the set partition. No network needs as many."""
CIRCLE_ROUNDS = 50
"""Solutions with groups that wait for each other before the set partition is given up."""
CIRCLE_WAYS = 400
"""Ways in which groups wait for each other, of which the one that forbids most is taken."""

# Groups that several cores share (compiler/planning/shards.py).

PHASE_CYCLES = 1000
"""Between the end of a program on all cores and the start of the next: an interrupt, and a few registers of each core. A group
for which that is longer than what it saves runs on one core."""

# How a group is executed (compiler/planning, compiler/layers).

STRIDE = 1.5
"""Of numbers of steps that could do equally well, each that is looked at is this factor times the last."""
NEAR = 1 + 1 / 64
"""A pipelined plan that is so near to what no plan can undercut is not compared with the sequential one."""
SHARES = (3, 5, 8, 16)
"""The room for parameters is cut into a number of parts. Streamed blocks take two of them: one is loaded while one is used. In
the other parts blocks stay. Small blocks let more stay, but each costs an instruction in every step."""
EDGE_PIECES = 4
"""Rows of a step are loaded, saved, and made at its edges in this many pieces, so that computation starts when the first piece
is loaded, and saves begin before it has ended."""
LONG_ROW = 64
"""A map of one row with more pixels is cut into rows."""
SHORT_ROW = 4
"""One long row is cut into rows of at least this many pixels: shorter ones cost more bursts than tiling saves."""
POOL_IS_BUSY = 4
"""POOL counts as busy in a group if CONV has at most this many times its beats."""
SLAB_CHOICES = 200
"""Choices of the search for offsets of maps that share words."""
LEAST_POOL_PIECE = 512
"""Cycles of a piece of a pooled row, at least: each piece costs an instruction."""
MOST_POOL_PIECES = 16
"""Pieces of a pooled row, at most."""

# Instructions (compiler/emit, compiler/schedule).

WINDOW = 48
"""Instructions of its own unit that one may overtake. More finds little, and costs time."""
LOAD_PIECES = 16
"""Loads that fill a whole parameter buffer: the first words need not wait until those at the end are free."""
LEAST_LOAD_BYTES = 16384
"""Bytes of such a load, at least: below it DRAM's bursts lose more than a hundredth."""

# Orders and places of feature maps (compiler/programs, compiler/memory).

MOST_LOSS = 0.01
"""Part of the cycles that another order, or other places, may cost for less DRAM."""
LIMIT_TRIES = 8
"""Limits of groups that are tried for one limit of the whole program, where branches need more than their groups."""
BANDS = (0, 1, 4, 16)
"""Bands of rows in which groups are computed that do not fit row by row; 0: no such groups. More bands save little."""
DULL_LIMITS = 12
"""The curve of cycles against DRAM ends after this many limits in a row without a new point."""
FAVOUR = 4
"""Under a limit, a group of the given program counts as cheaper by this power of two: such groups do well together."""
MOST_FUSED_TASKS = 16
"""Tasks that are fused to one, at most; larger ones come about step by step."""
MOST_FUSED_SETS = 2000
"""Closed sets of tasks that are looked at for one fusion."""
PART = 40
"""Tasks of a part of a graph that is too large to be ordered as a whole."""
PARTS = 5
"""Each part is ordered with this part of the effort."""
MOST_ORDER_STATES = 400_000
"""States of the search for one order: some seconds."""
PACKING_CHOICES = 40_000
"""Choices of the search for places below one ceiling: some seconds."""
FIRST_PACKING_CHOICES = 500
"""Choices before places are tried in another order; then four times as many."""
OVERLAY_VISITS = 2_000_000
"""Neighbours that are looked at in all rounds of one order: a second."""
OVERLAY_ROUNDS = 100
"""Orders in which what lay highest is placed first, from one start."""
