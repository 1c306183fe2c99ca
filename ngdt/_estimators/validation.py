"""What `fit` is given to validate by."""

from typing import Any, NamedTuple

from ngdt._util.validation import check_groups


class Validation(NamedTuple):
    """The arguments of `fit` that say on which samples choices are made."""

    groups: Any = None

    def added_to(self, problem):
        """The problem of the samples of a fit, with the groups.

        Parameters
        ----------
        problem : Problem

        Returns
        -------
        Problem
        """
        return problem.replace(groups=check_groups(self.groups, problem.sample_weight))

    def refuse(self, name):
        """Raise a ValueError if an argument is given that an estimator does not take.

        Parameters
        ----------
        name : str
            Of the estimator.
        """
        given = [field for field, value in self._asdict().items() if value is not None]
        if given:
            raise ValueError(f"{name} does not take {given[0]}: leave it out, or train in memory")


NO_VALIDATION = Validation()
