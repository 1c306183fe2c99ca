"""The constants of the choice between trees, each with its reason.

Numbers of samples are those of the training samples, leads are in standard errors of the paired
difference, and shares of time are those of the time until the deadline.
"""

# --- a named method against the baseline: `train` ------------------------------------------------

# Number of samples below which folds decide: half of a tenth of them is too few to tell a gain of
# four points from chance, and a few more trainings take seconds.
CROSS_VALIDATION_SAMPLES = 20_000
# Leads over the baseline above which the trained tree is chosen; the remaining folds are skipped;
# and the choice of epochs and subtrees on the same samples, which gained four standard errors on
# labels of which a quarter was random, cannot explain it.
MIN_GAIN_SE, STOP_FOLDS_SE, SELECTION_BIAS_SE = 2.0, 5.0, 6.0
# Shares of time for the training, before the comparison; of this time, for the initial tree; and
# of the time left for the comparison, for the baseline.
TRAINING_TIME, INITIAL_TIME, BASELINE_TIME = 0.75, 0.3, 0.25

# --- the default: who wins -----------------------------------------------------------------------

# Lead over a candidate by which it leaves.
MAX_LAG_SE = 1.5
# Lead that a tree must have over a single leaf, as the least error of targets with outliers is
# often the least by chance; and over the pruned tree where there is one fold, which lacks a third
# of the samples. With smaller leads, others were worse than it on five tables, by 0.3 points.
MIN_LEAF_GAIN_SE = 1.0
# The same for classes, of what a small step from their shares towards the probabilities of the tree
# would save, where these have a larger squared error: the best of several trees of random labels
# errs least by chance, and is as sure as any. None of 24 tables has such a tree.
MIN_CLASS_GAIN_SE = 2.0
# The same over a tree with teachers: a model tree that led by one sample was worse on others.
MIN_TAUGHT_GAIN_SE = 2.0
# Lead of the best tree over all softly trained ones by which those with teachers are left out. They
# take most of the time of the folds.
MAX_SOFT_LAG_SE = 3.0
# Numbers of samples, and of values of X, above which only some of the samples are compared on. With
# 15 000 of the 54 000 samples of Connect4, a tree of half the depth was chosen, 2.4 points worse.
MIN_DRAWN_SAMPLES, MAX_DRAWN_SAMPLES, MAX_DRAWN_VALUES = 15_000, 100_000, 12_000_000
# Largest depth of the greedy trees that are trained further. Deeper ones were not more accurate.
MAX_TRAINED_DEPTH = 8
# Number of candidates that are trained on all samples until one succeeds. Training has failed if
# the training error is more than a standard error above the error on the folds.
MAX_TRAININGS = 3
# Shares of time for the comparison, for the pruned trees before it, and for model trees.
COMPARISON_TIME, PRUNING_TIME, MODEL_TIME = 0.4, 0.15, 0.15
# The same with several folds, which are most of the work: with the shares above, half of the time
# was left, and accuracies were up to 7 points lower.
FOLDS_TIME, FOLDS_MODEL_TIME = 0.8, 0.3
# Number of times that a fit reads X, or routes its samples, and number of those after the training.
# With less time, it uses fewer samples, down to a least number.
N_READINGS, READINGS_AFTER, MIN_SAMPLES = 20, 4.0, 2000

# --- the default: who competes -------------------------------------------------------------------

# Number of samples from which fewer candidates compete, since each takes longer.
MANY_SAMPLES = 2000
# Values of C of TAO for classes: of few samples, of few next to linear leaves, where some trees are
# seldom the best, and of many.
FEW_CS, FEWER_CS, MANY_CS = (0.03, 0.1, 0.3, 1.0, 10.0), (0.1, 1.0, 10.0), (0.1,)
# Depths of soft regression trees with linear leaves, and of those with constant leaves, which TAO
# trains further. Of linear leaves without teachers, it never made the best tree of six tables.
LINEAR_DEPTHS, CONSTANT_DEPTHS = (2, 3, 4), (3, 4)
# Number of teachers, depths of the soft regression trees with linear and constant leaves that have
# them, and most samples for the former, which on five larger tables never had the least error.
N_TEACHERS, TAUGHT_LINEAR_DEPTH, TAUGHT_DEPTH, MAX_TAUGHT_SAMPLES = 6, 6, 7, 8000
# Largest numbers of features for model trees, and of coefficients of a model for classes, with few
# and with many samples.
MAX_MODEL_FEATURES, FEW_COEFFICIENTS, MANY_COEFFICIENTS = 128, 1000, 250
# Values of 1 / penalty for classes and trees of a single leaf, and the penalty of deeper ones.
LOGISTIC_CS, CLASS_PENALTY = (0.01, 0.1, 1.0, 10.0), 10.0
# Steps of soft training of wide sparse data, on folds and in the end: few, as a few features tell
# any two samples apart.
WIDE_STEPS, FINAL_WIDE_STEPS = 250, 500
# Depth of soft trees of few samples, unless it gives each class less than a number of leaves: on
# 1900 samples of Letter, 26 classes, each level up to the 9th gained 1 to 5 points.
FEW_DEPTH, FEW_LEAVES = 6, 16
# Steps of soft training of few samples, where more were no more accurate, and on a fold of many
# samples. With 500 steps there, others won on SatImage that were worse than 2250 steps.
FEW_STEPS, FOLD_STEPS = 500, 1000
# Largest share of another sample in what a further soft tree is shown of each sample; least number
# of features, of one scale as pixels are; and number of samples from which there is none. It won on
# USPS, MNIST and Fashion-MNIST, by 0.9, 0.3 and 0.2 points, and never with fewer features.
MIXING, MIN_MIXED_FEATURES, MAX_MIXED_SAMPLES = 0.4, 64, 20_000
# Passes of TAO on a fold and in the end. More changed the accuracy by less than 0.1 points.
FOLD_PASSES, N_PASSES = 2, 5

# --- forests: who competes -----------------------------------------------------------------------

# Number of features of a random oblique split of classes, and least number of those that are tried;
# the same for regression, and largest number of axis-aligned splits that are tried there.
N_NONZERO, MIN_CANDIDATES = 3, 5
N_REGRESSION_NONZERO, N_REGRESSION_CANDIDATES, MAX_FEATURES = 2, 40, 100
# Largest number of levels of trees that are trained with linear leaves, and penalty on the slopes.
# With 5 levels, a penalty of 3 and the usual decay, forests were worse on all of 12 sets.
MAX_LINEAR_DEPTH, SLOPE_PENALTY = 6, 1.0
# Depth of softly trained trees for classes from this number of samples on: squared errors were 9 %
# less on MNIST than at the usual depth of 8. A trial has too few samples to tell.
DEEP, MANY_FOREST_SAMPLES = 10, 20_000
# Epochs of their training, within these numbers of steps, the least of which is that of a single
# tree. Twice the steps lowered squared errors by 13 % on Letter, with 15 000 samples, and by
# nothing on sets of 7500 or fewer.
EPOCHS, MIN_STEPS, MAX_STEPS = 75, 2250, 4500
# Learning rate of such deep trees times n_features**RATE_POWER, where this is below the usual rate,
# and share of the usual weight decay: 10 % less squared error on MNIST and Fashion-MNIST.
RATE, RATE_POWER, DECAY = 0.29, 0.85, 0.5
# Bound of the loss of softly trained trees of classes. A tree with 0.5, the default, is as good,
# but twelve with 0.2 had less squared error on nine of ten sets, by up to 15 %.
Q = 0.2
# Steepness of their routing, which ends twice as hard as that of a single tree: less squared error
# on 16 of 24 tables, by 1 % on average, and by 2 to 11 % on images and letters.
GAMMA = (1.0, 14.0)

# --- forests: numbers of trees of each kind ------------------------------------------------------

# Least number of trees of a forest for which there is a trial; number of trees of each kind in it,
# of few samples, and of many, whose errors tell more.
MIN_TREES, N_TRIAL, N_TRIAL_OF_MANY = 8, 6, 4
# Number of weightings, and of the parts of the samples that are weighted each as a whole.
N_WEIGHTINGS, N_PARTS = 20, 50
# Largest numbers of samples, and of values of X, of the trial, and its share of time.
MAX_TRIAL_SAMPLES, MAX_TRIAL_VALUES, TRIAL_TIME = 30_000, 12_000_000, 0.4
