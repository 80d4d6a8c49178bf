"""Data for the examples: synthetic queries, or your own LETOR files, as training, validation and test part."""

from __future__ import annotations

import argparse

import pandas as pd

import ltr_metrics as ltr
from ltr_metrics.io import read_letor


def arguments(description):
    """Command-line options that all examples have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--letor", nargs="+", metavar="FILE", help="training files (default: synthetic data)")
    parser.add_argument("--valid", nargs="+", metavar="FILE", help="validation files (default: cut off from training)")
    parser.add_argument("--test", nargs="+", metavar="FILE", help="test files (default: cut off from training)")
    parser.add_argument("--n-features", type=int, help="features of the files, if the last ones may be absent")
    return parser


def load(parser):
    """Return the parsed options, and (X, y, qid) of the training, validation and test queries."""
    args = parser.parse_args()
    if (args.valid or args.test) and not args.letor:
        parser.error("--valid and --test need --letor")
    try:
        data = read(args.letor, args.n_features) if args.letor else ltr.make_ranking(400, random_state=0)
        n_features = data[0].shape[1]
        train, test = (data, read(args.test, n_features)) if args.test else cut(data, 0.2, 0)
        train, valid = (train, read(args.valid, n_features)) if args.valid else cut(train, 0.25, 1)
    except (OSError, ltr.LtrError) as error:
        parser.error(str(error))
    return args, train, valid, test


def read(files, n_features):
    return tuple(read_letor(files, n_features=n_features))


def cut(data, share, seed):
    """Cut off a share of the queries, each of them whole."""
    X, X_off, y, y_off, qid, qid_off = ltr.train_test_split(*data, test_size=share, random_state=seed)
    return (X, y, qid), (X_off, y_off, qid_off)


def with_qid_column(X, qid):
    """Cross-validation cuts the rows of X into folds; a column with the queries is cut with them."""
    return pd.DataFrame(X).add_prefix("f").assign(qid=qid)
