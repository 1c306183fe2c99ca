"""The constants of the choice between trees, each with its reason.

Numbers of samples are those of the training samples, leads are in standard errors of the paired
difference, and shares of time are those of the time until the deadline.
"""

# --- a named method alone: `train` ---------------------------------------------------------------

# Share of time for the initial tree.
INITIAL_TIME = 0.3

# --- a race: on which samples ---------------------------------------------------------------

# Numbers of samples, and of values of X, above which only some of the samples are compared on. With
# 15 000 of the 54 000 samples of Connect4, a tree of half the depth was chosen, 2.4 points worse.
MIN_DRAWN_SAMPLES, MAX_DRAWN_SAMPLES, MAX_DRAWN_VALUES = 15_000, 100_000, 12_000_000
# Number of candidates that are trained on all samples until one succeeds. Training has failed if
# the trees of the folds, which have not seen their test samples, are clearly better on these, or
# all splits are lost.
MAX_TRAININGS = 3
# Shares of time for the comparison, for the pruned trees before it, and for model trees; with
# several folds, which are most of the work, half of the time was left with these shares.
COMPARISON_TIME, PRUNING_TIME, MODEL_TIME = 0.4, 0.15, 0.15
FOLDS_TIME, FOLDS_MODEL_TIME = 0.8, 0.3
# Number of times that a fit reads X, or routes its samples, and number of those after the training.
# With less time, it uses fewer samples, down to a least number.
N_READINGS, READINGS_AFTER, MIN_SAMPLES = 20, 4.0, 2000

# --- the default: who competes, and what a winner must do ----------------------------------------

# Lead in errors over a single leaf up to which the log loss of classes decides. On rare classes of
# 18 tables, in 250 fits, the area under the ROC curve rose from 85.9 to 87.7 %. Other tables did
# not change on average. A limit of 3 gained less; without a limit, accuracy fell. The second one is
# the lead in squared errors by which a candidate loses whatever its log loss, and the lead in log
# loss that the pruned tree must have over others.
TELLING_LEAD, MIN_LOG_LOSS_LEAD = 4.0, 1.0
# Lead in log loss, or error of regression, that the winner must have over a single leaf, and that
# any other must have to take its place: the best of several leads by more where nothing is found.
MIN_LEAF_LEAD, MIN_OTHER_LEAF_LEAD = 1.0, 2.0
# Lead that a single leaf with a linear model must have over the best tree with splits. Between this
# and 1.5, R2 was higher in 5 of 7 fits of 100 to 1000 samples, by 0.07 in the mean.
MIN_LINEAR_LEAD = 1.0
# Weight in samples, spread over the classes, in each node, and strengths of shrinkage that are
# tried for leaves of classes. The largest are for heavy samples, as weights of rare classes make
# them, and for thousands of samples of as many features, which trees overfit. Other weights beside
# this one gained nothing.
PSEUDO_COUNT = 0.5
STRENGTHS = 16384.0, 4096.0, 1024.0, 256.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.0
# Number of samples from which soft training takes more steps, and linear leaves are rarer, since
# each candidate takes longer.
MANY_SAMPLES = 2000
# C of TAO for classes. On 112 folds of 27 tables, other values beside it and starts from deeper
# greedy trees gained nothing.
CLASS_C = 1.0
# Values of C of TAO for regression trees with constant leaves; the first is preferred.
REGRESSION_CS = (10.0, 0.1)
# C of TAO where samples are no more than features: it overfits less than the others. For classes,
# the accuracy of trees on images and made data rose by 0.8 points, and that of forests on made data
# from 81 to 95 %; forests for regression took half of the time, and were as good.
WIDE_C = 0.1
# Passes of TAO on a fold and in the end. More changed the accuracy by less than 0.1 points.
FOLD_PASSES, N_PASSES = 2, 5
# The same of regression trees that have to be monotone: R2 rose by 0.005 on six tables. Of few
# samples, soft trees with fewer passes were about as accurate, in half of the time.
MONOTONE_PASSES, FEW_MONOTONE_PASSES = (5, 14), (2, 5)
# Number of levels of soft monotone trees that split by features without a direction only, so that
# no leaf is ordered against those on the other side, with many and with few samples. On held-out
# training rows, R2 of a soft tree rose by 0.014 on california_housing with 2, and by 0.028 with 3;
# by 0.05 on friedman1 with 2. It fell by 0.002 on power_plant.
FREE_LEVELS, FEW_FREE_LEVELS = 3, 2
# Largest depth of the greedy trees that are trained further. Deeper ones were not more accurate.
MAX_TRAINED_DEPTH = 8
# Depth of a second soft tree for classes, next to one of 8 or more levels, if each class has a leaf
# then: it won where a rule is nearly linear, or is made of two linear ones.
SMALL_DEPTH = 2
# Number of levels by which the larger soft tree is smaller with few samples. It was as accurate on
# 142 tables, in 0.9 of the time, and by 0.25 +- 0.11 points better on the 34 sets of this choice.
FEW_LEVELS_LESS = 2
# Steps of soft training of few samples, where more were no more accurate, and on a fold of many
# samples. With 500 steps there, others won on SatImage that were worse than 2250 steps.
FEW_STEPS, FOLD_STEPS = 500, 1000
# Steps on folds of many features, unless they are trained in the span of few samples, and largest
# share of stored values where few sparse features count as many, between those of texts and of
# images. With 3000 words of 16 000 pieces of code, larger trees took three times as long, and were
# 0.3 and 0.7 points worse.
WIDE_STEPS, MAX_STORED = 250, 0.05
# Largest share of another sample in what soft training is shown of each sample; least number of
# features, of one scale as pixels are; and number of samples from which it is not mixed. It gained
# 0.9, 0.3 and 0.2 points on USPS, MNIST and Fashion-MNIST, and never with fewer features.
MIXING, MIN_MIXED_FEATURES, MAX_MIXED_SAMPLES = 0.4, 64, 20_000
# Largest numbers of samples times squared features for model trees, to which the time of their sums
# of products is proportional; and of coefficients of a model for classes, with few and with many
# samples. A single model has only the limit for few: of many samples, it is fitted to some.
MAX_MODEL_COST = 1e9
FEW_COEFFICIENTS, MANY_COEFFICIENTS = 1000, 250
# Largest number of features that score bands of many samples weigh without a choice: nobody reads
# longer sums. With the half that the lasso chose, they were as accurate on tables, and half a point
# worse on images. Of few samples, which features count is uncertain.
MAX_TERMS = 100
# Penalty of logistic regressions in the leaves of a tree with splits.
CLASS_PENALTY = 10.0
# Depths of soft regression trees with linear leaves, and with constant ones.
LINEAR_DEPTH, CONSTANT_DEPTHS = 3, (3, 4)
