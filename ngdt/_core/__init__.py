"""The non-greedy tree of Norouzi et al. (2015): a guided tour, with the paper in hand.

Read in this order. `weights` is W, `thresholds` the weight of the constant feature -1, and `values`
Theta; a code h or g is never written down, as a leaf and the flips on the way to it say the same.

1. `tree`, `flat_tree`: section 3. `FlatTree.leaf_below` is the navigation f(sgn(Wx)), one dot
   product per node of a path; `structure` knows parents, depths and paths. Samples of any type are
   read by `samples`, without a copy, and `scaling` maps weights to standardised features and back.
2. `loss`, `regression_losses`: eqs. (2) and (3), the sum of which over samples is eq. (4). A loss
   also bounds what all leaves below a node can cost, so that a search may leave them out.
3. `search`: sections 5 and 6. The bound of eq. (7), which eq. (9) sums, is `Search.find` with any
   number of flips. `begin` finds the sgn(Wx) of eq. (5), and with it the
   second maximum of each bound. The loss-augmented inference of eqs. (10) to (12) is that of leaves
   instead of codes: a flip at node i costs 2 |w_i x|. The Hamming ball of eq. (13) is `radius` 1.
4. `sgd/epoch`: section 6, Algorithm 1. A sample is visited in `_fill_slot`: its augmented leaf by
   eq. (13), its assigned leaf by eq. (14). `_find_updates` is the gradient, lines 8 to 10. A step
   of a node is taken in `TrainedTree.move_node`, a step of the leaves in `move_leaves`; the ball
   ||w||^2 <= nu of eq. (9) is `_project`. `threads` lets several threads do so without a lock.
5. `greedy`: the initial tree. `builder.build` grows it, `splitter.Splitter.split` finds the split
   with the largest information gain, by the counts of `criterion`, from the features that `columns`
   and `moves` list in ascending order.

That the bound holds, and Proposition 1, that it is tighter for larger W, are tested in
`tests/inference`. What surrounds an epoch, its schedule and the choice of nu, is `_methods/sgd`.
Nothing here imports anything but `_util`.
"""
