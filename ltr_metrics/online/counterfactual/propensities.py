"""The probability that users examine a position, given or estimated."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr_metrics._rows.checks import AnyArray, FloatArray, IntArray, as_numbers
from ltr_metrics._rows.json_values import DataFrame, to_dataframe
from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.tables import Table, Tabular

HIGHEST_POSITION = 10**6


@dataclass(frozen=True, eq=False, repr=False)
class Propensities(Tabular):
    """The probability that a user examines each position, relative to the first one.

    Only ratios of propensities are known from clicks, so the first position has the propensity 1.
    A position that users examine more often has a propensity above 1, as may an estimate by chance.
    An estimate that is 10 % too high at all positions changes no comparison of models.

    Parameters
    ----------
    propensity : array-like of shape (n_positions,)
        Finite numbers of at least 0.
    position : array-like of int of shape (n_positions,), optional
        Ascending positions, from 1 to 1,000,000. By default 1, 2, 3, ...
    standard_error : array-like of shape (n_positions,), optional
        Standard error of each propensity.
    method : str, default "given"
        Where the numbers come from.

    Raises
    ------
    LtrValueError, LtrTypeError
        If a propensity is negative or not finite, or if the lengths differ.

    See Also
    --------
    estimate_propensities : Estimate them from clicks.
    ltr_metrics.counterfactual.evaluate : What they are for.

    Examples
    --------
    >>> from ltr_metrics.counterfactual import Propensities
    >>> table = Propensities([1, 0.5, 0.25])
    >>> table.of_rows([3, 1, 1]), len(table)
    (array([0.25, 1.  , 1.  ]), 3)
    >>> table.position, table.propensity, table.standard_error, table.method
    (array([1, 2, 3]), array([1.  , 0.5 , 0.25]), None, 'given')
    >>> table.to_pandas()["propensity"].tolist(), table.to_dict()["position"]
    ([1.0, 0.5, 0.25], [1, 2, 3])
    >>> estimated = Propensities.from_xgboost(booster)  # doctest: +SKIP
    """

    propensity: Any
    position: Any = None
    standard_error: Any = None
    method: str = "given"

    def __post_init__(self) -> None:
        propensity = as_numbers(self.propensity, "propensity").astype(np.float64)
        is_bad = ~(np.isfinite(propensity) & (propensity >= 0))
        if is_bad.any() or not len(propensity):
            got = f"Got {propensity[is_bad][0]:g}." if len(propensity) else "Got none."
            raise LtrValueError(f"propensity must have finite numbers of at least 0, one a position. {got}")
        given = np.arange(1, len(propensity) + 1) if self.position is None else self.position
        position = as_positions(given, "position", len(propensity))
        if (np.diff(position, prepend=0) < 1).any():
            raise LtrValueError(f"position must ascend from 1 or higher. Got {position.tolist()}.")
        error = self.standard_error
        error = None if error is None else as_numbers(error, "standard_error", len(propensity)).astype(np.float64)
        for name, values in (("propensity", propensity), ("position", position), ("standard_error", error)):
            object.__setattr__(self, name, values)

    def __len__(self) -> int:
        """Return the number of positions."""
        return len(self.position)

    @classmethod
    def from_xgboost(cls, booster: Any) -> Propensities:
        """Return the propensities that XGBoost estimated in training (``ti+``).

        Train with ``lambdarank_unbiased=True``. XGBoost takes the order of the rows of a query as
        the positions, and estimates as many as its pairs reach. With
        ``lambdarank_bias_norm`` above 0, the estimates are regularized towards 1.

        Parameters
        ----------
        booster : xgboost.Booster or XGBRanker
            A trained model.

        Returns
        -------
        Propensities
            Without standard errors, which XGBoost does not have.

        Raises
        ------
        LtrTypeError
            If it is not a model of XGBoost.
        LtrValueError
            If the model was trained without ``lambdarank_unbiased``.
        """
        model = booster.get_booster() if hasattr(booster, "get_booster") else booster
        if not hasattr(model, "save_config"):
            raise LtrTypeError(f"from_xgboost needs a Booster or an XGBRanker. Got a {type(booster).__name__}.")
        objective = json.loads(model.save_config())["learner"]["objective"]
        bias = [float(value) for value in objective.get("ti+", [])]
        if not bias:
            raise LtrValueError(
                f"The booster has no ti+, the estimates of position bias. Its objective is {objective.get('name')!r}. "
                "Train with a rank: objective and lambdarank_unbiased=True."
            )
        return cls(bias, method="xgboost")

    def of_rows(self, position: Any) -> FloatArray:
        """Return the propensity of each row, by its position.

        Parameters
        ----------
        position : array-like of int of shape (n_rows,)
            The position at which each row was displayed, from 1 to 1,000,000. 0 is a row that was
            not displayed, whose propensity is 0.

        Returns
        -------
        ndarray of float64 of shape (n_rows,)
            At least 0.

        Raises
        ------
        LtrValueError
            If there is no propensity for a position, or it is not a whole number from 0 to
            1,000,000.
        """
        rows = as_positions(position, "position", lowest=0)
        index = np.minimum(np.searchsorted(self.position, rows), len(self) - 1)
        is_unknown = (self.position[index] != rows) & (rows > 0)
        if is_unknown.any():
            row = int(is_unknown.argmax())
            raise LtrValueError(
                f"There is no propensity for position {rows[row]}, first at row {row}. There are those of "
                f"{len(self)} positions, up to {self.position[-1]}. Estimate it, or pass position 0 for rows that "
                "users did not see."
            )
        return np.where(rows > 0, self.propensity[index], 0.0)

    @property
    def _errors(self) -> FloatArray:
        return np.full(len(self), np.nan) if self.standard_error is None else np.asarray(self.standard_error)

    def to_pandas(self) -> DataFrame:
        """Return a table with one row per position.

        Returns
        -------
        pandas.DataFrame
            The columns are position, propensity and standard_error, which is NaN if unknown.
        """
        columns = {"position": self.position, "propensity": self.propensity, "standard_error": self._errors}
        return to_dataframe(columns)

    def printed(self) -> list[Table]:
        """Return the table of positions."""
        columns = {"position": "{k:}", "propensity": "{p:.4f}", "standard error": "{e:.4f}"}
        values = zip(self.position, self.propensity, self._errors, strict=True)
        title = f"Propensities ({self.method}), relative to position {self.position[0]}:"
        return [Table.of(columns, [{"k": k, "p": p, "e": e} for k, p, e in values], title)]


def as_positions(values: Any, name: str, n_rows: int | None = None, *, lowest: int = 1) -> IntArray:
    """Return positions as integers; refuse fractions, and numbers below the lowest or above a million."""
    numbers: AnyArray = as_numbers(values, name, n_rows)
    is_bad = ~((numbers >= lowest) & (numbers <= HIGHEST_POSITION) & (numbers == np.floor(numbers)))
    if is_bad.any():
        row = int(is_bad.argmax())
        also = " 0 is a row that was not displayed." if lowest == 0 else " The first position is 1."
        raise LtrValueError(
            f"{name} must be whole numbers from {lowest} to {HIGHEST_POSITION:,}: got {numbers[row]:g} at row {row} "
            f"(such rows: {int(is_bad.sum()):,}).{also}"
        )
    return numbers.astype(np.intp)
