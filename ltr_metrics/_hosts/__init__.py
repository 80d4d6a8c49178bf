"""The contract between this package and the training libraries that call it (hosts).

An adapter is a function or callback with the signature that its host asks for.
It holds a `HostMetrics`, and does not inherit from it: a host may use any method name. A plain
function inherits from `MetricFunction`, which has its name and its text.
In each call an adapter does the following.

1. It checks that it got what its host passes, and raises `wrong_host` otherwise.
2. It asks for the plan of the training: `HostMetrics.plan`, which reads the host's own
   gain if the metrics follow it. `find_call` reads what a host does not pass.
3. It finds the queries. If the host passes a data set, the adapter reads its labels, weights and
   query boundaries in each round, and `QueriesCache` lays them out once. If the host passes no
   queries, the adapter takes the data in its own constructor, as ``xgboost.Monitor`` and
   ``catboost.EvalMetric`` do.
4. It finds out which names the host's log has already, and calls `refuse_names_in_use`. An adapter
   that keeps the history itself has nothing to check.
5. It calls `HostMetrics.evaluate_round`, which requires one score per row, raises an error for an
   undefined mean, and records the values per query in the user's log.
   An adapter that has the data in its own constructor passes itself as ``data``.
   If the host trains on several workers, of which each has a part of the queries, the adapter calls
   `mean_over_workers` instead, with the host's way to sum and to broadcast as `Workers`. What can
   fail on one worker only then runs inside ``part_of_worker``: steps 1, 3 and 4, and the prediction.
   A log keeps the queries of one process, so ``log=`` is an error there.
6. It returns the means in the form of the host, with their `Plan.directions`.

`known_hosts` is the register of hosts, and has what messages need to know about each of them without
importing it. `fitted_model` evaluates a model after each of its rounds.
"""
