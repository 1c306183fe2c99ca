"""The constants of default forests, each with its reason.

Numbers of samples are those of the training samples, and shares of time are those of the time until
the deadline.
"""

# --- who competes ---------------------------------------------------------------------------------

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
# Learning rate of such deep trees times n_features**RATE_POWER, where this is below the usual rate:
# with half of the decay, 10 % less squared error on MNIST and Fashion-MNIST.
RATE, RATE_POWER = 0.29, 0.85
# Steps of soft training; for classes, number of samples for each step if that makes more steps, but
# at most so many. The decay is the usual one times what the usual number of steps is times this,
# and the learning rate of other trees the usual one times the root of that. Forests were as good as
# by 2250 steps on 43 tables and six sets of images and letters, in half of the time, and those with
# linear leaves better.
STEPS, SAMPLES_PER_STEP, MAX_STEPS = 600, 4, 4500
# Bound of the loss of softly trained trees of classes. A tree with 0.5, the default, is as good,
# but twelve with 0.2 had less squared error on nine of ten sets, by up to 15 %.
Q = 0.2
# Steepness of their routing, which ends twice as hard as that of a single tree: less squared error
# on 16 of 24 tables, by 1 % on average, and by 2 to 11 % on images and letters.
GAMMA = (1.0, 14.0)

# --- numbers of trees of each kind ----------------------------------------------------------------

# Least number of trees of a forest for which there is a trial; number of trees of each kind in it,
# of few samples, and of many, whose errors tell more.
MIN_TREES, N_TRIAL, N_TRIAL_OF_MANY = 8, 6, 4
# Number of weightings, and of the parts of the samples that are weighted each as a whole.
N_WEIGHTINGS, N_PARTS = 20, 50
# Largest numbers of samples, and of values of X, of the trial, and its share of time.
MAX_TRIAL_SAMPLES, MAX_TRIAL_VALUES, TRIAL_TIME = 30_000, 12_000_000, 0.4
