"""The data set of a `Monitor`."""

from __future__ import annotations

from typing import Any

import xgboost

from ltr_metrics.errors import LtrTypeError, LtrValueError
from ltr_metrics.evaluation.evaluate import Queries


class MonitoredData:
    """Queries, features, and the DMatrix of the features while a training runs.

    A DMatrix can be neither copied nor pickled, and the estimator with the Monitor must be. So the
    DMatrix is left out of pickles and copies. A copy shares the rest and builds its own DMatrix.
    """

    def __init__(
        self, X: Any, y: Any, *, qid: Any = None, group: Any = None, base_margin: Any, missing: float, **options: Any
    ) -> None:
        if isinstance(X, xgboost.DMatrix):
            raise LtrTypeError("Monitor takes X, y and qid. To evaluate a DMatrix, use xgb.train(custom_metric=...).")
        if qid is None and group is None and hasattr(X, "iloc") and "qid" in X.columns:
            X, qid = X.drop(columns="qid"), X["qid"]
        self.queries = Queries(y, qid=qid, group=group, **options)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows != self.queries.n_rows:
            raise LtrValueError(f"X and y must have the same number of rows: got {n_rows} and {self.queries.n_rows}.")
        self._features = {"data": X, "base_margin": base_margin, "missing": missing}
        self._dmatrix: xgboost.DMatrix | None = None

    def build(self) -> None:
        """Build the DMatrix unless it exists."""
        if self._dmatrix is None:
            self._dmatrix = xgboost.DMatrix(**self._features, enable_categorical=True)

    def release(self) -> None:
        """Drop the DMatrix."""
        self._dmatrix = None

    def predict(self, model: xgboost.Booster) -> Any:
        """Return the model's predictions."""
        # XGBoost caches the last prediction of a DMatrix, and adds that of the new trees.
        self.build()
        return model.predict(self._dmatrix)

    def refuse_other_features(self, model: xgboost.Booster) -> None:
        """Raise an error for another number of features, which XGBoost would treat as missing."""
        self.build()
        n_features, n_expected = self._dmatrix.num_col(), model.num_features()  # type: ignore[union-attr]
        if n_features != n_expected:
            raise LtrValueError(
                f"The Monitor's X has {n_features} features, and the model was trained on {n_expected}. "
                '(A column "qid" is not a feature if qid= and group= are left out.)'
            )

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_dmatrix": None}
