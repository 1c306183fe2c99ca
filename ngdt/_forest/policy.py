"""The constants of default forests, each with its reason.

Numbers of samples are those of the training samples, and shares of time are those of the time until
the deadline.
"""

# --- who competes ---------------------------------------------------------------------------------

# Number of features of a random oblique split of classes, and least number of those that are tried;
# the same for regression.
N_NONZERO, MIN_CANDIDATES = 3, 5
N_REGRESSION_NONZERO, N_REGRESSION_CANDIDATES = 2, 40
# Largest number of axis-aligned splits that are tried where all features are. For classes, squared
# errors on 19 tables were 0.0012 +- 0.0009 less with such trees, by 0.013 on churn.
MAX_FEATURES = 100
# Largest number of levels of trees that are trained with linear leaves, and penalty on the slopes.
# With 5 levels, a penalty of 3 and the usual decay, forests were worse on all of 12 sets.
MAX_LINEAR_DEPTH, SLOPE_PENALTY = 6, 1.0
# Depth of softly trained trees for classes from this number of samples on: squared errors were 9 %
# less on MNIST than at the usual depth of 8. A trial has too few samples to tell.
DEEP, MANY_FOREST_SAMPLES = 10, 20_000
# Learning rate of such deep trees times n_features**RATE_POWER, where this is below the usual rate,
# and share of the usual weight decay: 10 % less squared error on MNIST and Fashion-MNIST.
RATE, RATE_POWER, DECAY = 0.29, 0.85, 0.5
# Steps of soft training of few samples and, for classes, number of samples for each of more steps,
# up to 2250, and number of samples from which classes take the steps of a single tree. The usual
# decay is multiplied by 2250 divided by the steps, and the usual learning rate by the root of it:
# forests were as good on 43 tables and on digits, in half of the time or less, and better with
# linear leaves. With 7000 to 10 000 images and letters, fewer steps cost 0.1 to 0.3 points.
STEPS, SAMPLES_PER_STEP, MANY_STEPS_SAMPLES = 600, 2, 7500
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
