"""What every public docstring must have: the checks of numpydoc, and further ones that it lacks."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import itertools
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles
from numpydoc.docscrape import get_doc_object
from numpydoc.docscrape_sphinx import SphinxDocString
from numpydoc.validate import ERROR_MSGS, Validator, validate
from prose import n_words, sentences

import ltr_metrics
from ltr_metrics import Metric, Ranking

MODULES = (
    *("", "lightgbm", "xgboost", "catboost", "sklearn", "mlflow", "dask", "spark"),
    *("interleaving", "counterfactual", "metrics", "report", "io", "trec"),
)
NEEDS = {"spark": "pyspark"}  # the one extra that the ordinary tests lack; make test-spark has it

LEFT_OUT = {  # numpydoc's checks that we do not follow, and why
    "GL01": "a summary starts beside the opening quotes, as ruff's D212 wants it",
    "GL02": "a docstring of one line closes its quotes in that line, as ruff's D200 wants it",
    "ES01": "no second paragraph is needed where the summary says everything",
}
LEFT_TO_THE_CLASS = {  # of methods and properties
    "SA01": "they stand in the reference below their class, which has its See Also",
    "EX01": "the example of their class may show them, which `faults_of_examples` checks",
}
CHECKS = ERROR_MSGS.keys() - LEFT_OUT.keys()

# Methods that modules of this package call, and nobody else. Their docstrings are valid, but need not be complete.
INTERNAL = {
    *("printed_parts", "record", "record_score", "require_folder", "check_once", "family", "canonical"),
    *("Evaluation.of", "Evaluation.with_fields", "Evaluation.with_values"),
    *("Evaluation.plain_qid", "Evaluation.means_to_dict"),
    *("Evaluation.segments_to_dicts", "Comparison.sample", "Convention.completing", "Positions.as_scores"),
    *("Queries.evaluate_request", "Ranking.of_batch", "Ranking.of_block", "Ranking.expected_of_rows"),
    *("Ranking.of_grades_alone", "Ranking.open_ties", "Ranking.open_documents"),
    *("ClickModel.require_grades", "ClickModel.require_length", "ClickModel.warn_of_grades", "Monitor.evaluate"),
    *("QueryRanker.features_of", "QueryRanker.queries_in"),  # learning_curve reads data as the ranker does
    *("EvalMetric.evaluate", "EvalMetric.get_final_error", "is_max_optimal"),  # CatBoost calls them
}
INTERNAL_BASES = {"GroupedRows", "LabelledQueries", "CascadeMetric", "FirstRelevant"}

# Methods for the authors of metrics. They need a block or a ranking, which only an evaluation makes, so they have no
# example of their own: that of RankMetric shows how such a metric is written.
FOR_AUTHORS = {
    *("values", "at_cutoffs", "check", "divisor", "discounts", "gains", "relevant_gains"),
    *("lowest", "relevant", "n_relevant", "by_rank", "tied_documents", "needed_columns"),
    *("mean_over", "query_weight"),
}


@dataclass(frozen=True)
class Public:
    """A public object: the path that users write, its module, its class if it is a member of one."""

    path: str
    module: str
    thing: Any
    cls: type | None = None

    @property
    def is_internal(self) -> bool:
        if self.cls is None:
            return False
        name = self.path.rpartition(".")[2]
        return (
            bool({name, f"{self.cls.__name__}.{name}"} & INTERNAL) or _home(self.cls, name).__name__ in INTERNAL_BASES
        )


def is_there(module: str) -> bool:
    return module not in NEEDS or importlib.util.find_spec(NEEDS[module]) is not None


def modules() -> Iterator[ModuleType]:
    for name in MODULES:
        if is_there(name):
            yield importlib.import_module(f"ltr_metrics.{name}".rstrip("."))


@functools.cache
def public() -> dict[str, Public]:
    """Return all public objects by path, each once: functions, classes and their own members."""
    everything: dict[str, Public] = {}
    seen: set[int] = set()
    for module in modules():
        for name in module.__all__:
            thing = getattr(module, name)
            if id(thing) in seen or not callable(thing):
                continue
            seen.add(id(thing))
            everything[f"{module.__name__}.{name}"] = Public(f"{module.__name__}.{name}", module.__name__, thing)
            for member in members(thing) if inspect.isclass(thing) else ():
                own = vars(_home(thing, member))[member]
                if id(own) not in seen and (own.__doc__ or not _inherits(thing, member)):
                    seen.add(id(own))
                    path = f"{module.__name__}.{name}.{member}"
                    everything[path] = Public(path, module.__name__, _function(own), thing)
    return everything


def members(cls: type) -> list[str]:
    """Return the public methods and properties of a class that this package defines."""
    kinds = (property, functools.cached_property, classmethod, staticmethod)
    names = [name for name in dir(cls) if not name.startswith("_")]
    homes = {name: _home(cls, name) for name in names}
    return [
        name
        for name in names
        if homes[name].__module__.startswith("ltr_metrics.")
        and (inspect.isfunction(vars(homes[name])[name]) or isinstance(vars(homes[name])[name], kinds))
    ]


def _home(cls: type, name: str) -> type:
    return next(base for base in cls.__mro__ if name in vars(base))


def _inherits(cls: type, name: str) -> bool:
    """Whether a base class documents what a class overrides."""
    return any(getattr(vars(base).get(name), "__doc__", None) for base in _home(cls, name).__mro__[1:])


def _function(own: Any) -> Any:
    return own.__func__ if isinstance(own, (classmethod, staticmethod)) else own


FORMULA = re.compile(r"^\.\. math::.*\n(?:(?: +.*)?\n)*", flags=re.MULTILINE)
MOST_WORDS, MOST_COLUMNS = 30, 100  # as in tests/test_prose.py
SET_BY_SCIKIT_LEARN = {"n_features_in_", "feature_names_in_"}
OUR_ERRORS = {"LtrValueError", "LtrTypeError", "LtrKeyError", "MissingExtraError"}

# -- checks ----------------------------------------------------------------------------------------


def faults(of: Public) -> list[str]:
    """Return all faults of a docstring, one a line."""
    if not of.thing.__doc__:
        return ["GL08: there is no docstring"]
    checks = [faults_of_numpydoc, faults_of_markup, faults_of_references, faults_of_prose, faults_of_properties]
    if not of.is_internal:
        checks += [faults_of_examples, faults_of_raises, faults_of_attributes, faults_of_wording]
    return [fault for check in checks for fault in check(of)]


def faults_of_numpydoc(of: Public) -> list[str]:
    leave_out: set[str] = set()
    if of.cls is not None:
        leave_out |= LEFT_TO_THE_CLASS.keys()
    if is_made_by_functions(of.thing):  # faults_of_attributes checks them
        leave_out |= {"PR01", "PR02", "PR03"}
    if of.is_internal:
        leave_out |= {code for code in CHECKS if code[:2] in ("PR", "RT", "YD")}
    found = validate(of.path, validator_cls=lambda obj_name: Validator(sections(of)))["errors"]
    return [f"{code}: {message}" for code, message in found if code in CHECKS - leave_out]


def sections(of: Public) -> Any:
    return sections_of(of.thing)


@functools.cache
def sections_of(thing: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unknown section")  # GL06 reports it
        return get_doc_object(thing, config={"show_class_members": False})


def faults_of_markup(of: Public) -> list[str]:
    """Return the warnings of docutils about the reStructuredText that numpydoc makes of a docstring."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unknown section")
        text = str(SphinxDocString(inspect.getdoc(of.thing), config={"template": _template()}))
    quiet = {"report_level": 5, "halt_level": 5, "file_insertion_enabled": False, "_disable_config": True}
    tree = publish_doctree(text, settings_overrides=quiet)
    messages = [m for m in tree.findall(nodes.system_message) if m["level"] >= 2]
    return [f"reST: {m.astext()}" for m in messages]


def faults_of_references(of: Public) -> list[str]:
    """Return the names in backticks and in See Also that the reference does not have."""
    doc = inspect.getdoc(of.thing) or ""
    prose = re.sub(r"``.*?``|:\w+:`.*?`", "", doc, flags=re.DOTALL)
    named = re.findall(r"(?<![\w:`])`([^`<>]+)`(?!_)", prose)
    named += [name for names, _ in sections(of)["See Also"] for name, _ in names]
    return [f"REF: {name} is not a public name" for name in named if not resolves(name.lstrip("~"), of)]


def resolves(name: str, of: Public) -> bool:
    """Whether Sphinx finds a name from here: in full, in this module or class, or as a page of the site."""
    if name.startswith("docs/"):
        return (Path(__file__).parent.parent / name).is_file()
    cls = of.cls or (of.thing if inspect.isclass(of.thing) else None)
    within = [f"{of.module}.{cls.__name__}.{name}"] if cls else []
    return any(one in paths() for one in (name, f"{of.module}.{name}", *within))


@functools.cache
def paths() -> set[str]:
    """Return every path that the reference can have: modules, names, members, attributes."""
    found = {module.__name__ for module in modules()}
    for module in itertools.filterfalse(is_there, MODULES):
        found |= {f"ltr_metrics.{module}", *(f"ltr_metrics.{module}.{name}" for name in names_without_import(module))}
    for module in modules():
        for name in module.__all__:
            thing = getattr(module, name)
            found.add(f"{module.__name__}.{name}")
            if inspect.isclass(thing):
                found |= {f"{module.__name__}.{name}.{member}" for member in attributes_of(thing)}
    return found


def names_without_import(module: str) -> list[str]:
    """Return ``__all__`` of a module whose host is not installed."""
    tree = ast.parse((Path(ltr_metrics.__file__).parent / module / "__init__.py").read_text(encoding="utf-8"))
    assigned = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
    return list(ast.literal_eval(assigned["__all__"]))


def faults_of_prose(of: Public) -> list[str]:
    """Return long lines and long sentences; neither formulas nor examples are prose."""
    doc = inspect.getdoc(of.thing) or ""
    indent = 8 if of.cls else 0 if inspect.ismodule(of.thing) else 4
    prose = FORMULA.sub("\n", re.split(r"^Examples\n-+$", doc, flags=re.MULTILINE)[0])
    first, *others = prose.splitlines()
    too_wide = [line for line in (f'"""{first}', *others) if len(line) + indent > MOST_COLUMNS]
    found = [f"PROSE: {len(line) + indent} columns: {line}" for line in too_wide]
    listed = sections(of)
    texts = [listed["Summary"], FORMULA.sub("\n", "\n".join(listed["Extended Summary"])).splitlines(), listed["Notes"]]
    texts += [
        text for name in ("Parameters", "Attributes", "Returns", "Raises", "Warns") for _, _, text in listed[name]
    ]
    all_sentences = [sentence.text for text in texts for sentence in sentences("\n".join(text))]
    too_long = [sentence for sentence in all_sentences if n_words(sentence) > MOST_WORDS]
    return found + [f"PROSE: {n_words(sentence)} words: {sentence}" for sentence in too_long]


def faults_of_properties(of: Public) -> list[str]:
    getter = getattr(of.thing, "fget", None) or getattr(of.thing, "func", None)
    if isinstance(of.thing, (property, functools.cached_property)) and "return" not in getter.__annotations__:
        return ["PROPERTY: its type is not annotated, so the reference cannot show it"]
    return []


def faults_of_examples(of: Public) -> list[str]:
    """Return a fault if no example runs, or shows a member of a class."""
    if of.cls is None:
        text = "\n".join(sections(of)["Examples"])
        ran = [line for line in text.splitlines() if line.startswith(">>> ") and "doctest: +SKIP" not in line]
        return [] if ran else ["EXAMPLE: no line of it runs"]
    name = of.path.rpartition(".")[2]
    if name in FOR_AUTHORS and issubclass(of.cls, (Metric, Ranking)):
        return []
    shown = [text for text in (of.thing.__doc__, *(base.__doc__ for base in _relatives(of.cls, name))) if text]
    lines = [line for text in shown for line in text.splitlines() if line.lstrip().startswith((">>> ", "... "))]
    used = any(re.search(rf"\b{name}\b", line) for line in lines)
    return [] if used else ["EXAMPLE: neither its own nor one of its class shows it"]


def _relatives(cls: type, name: str) -> list[type]:
    """Return the classes that have the same member: bases, and public classes derived from its home."""
    home = _home(cls, name)
    derived = [p.thing for p in public().values() if p.cls is None and inspect.isclass(p.thing)]
    return [*cls.__mro__, *(one for one in derived if issubclass(one, home))]


def faults_of_raises(of: Public) -> list[str]:
    """Return the errors that the object's own lines raise and its docstring does not name."""
    documented = " ".join(f"{name} {kind}" for name, kind, _ in sections(of)["Raises"])
    return [
        f"RAISES: {name} is not documented"
        for name in sorted(raised_by(of.thing))
        if not re.search(rf"\b({name}|LtrError)\b", documented)
    ]


def raised_by(thing: Any) -> set[str]:
    """Return the errors of this package that the lines of a function, or of a class's ``__init__``, raise."""
    functions = [thing]
    if inspect.isclass(thing):
        functions = [vars(thing)[name] for name in ("__init__", "__post_init__") if name in vars(thing)]
    functions = [getattr(one, "fget", None) or getattr(one, "func", None) or one for one in functions]
    written = [one for one in functions if inspect.isfunction(one) and one.__code__.co_filename != "<string>"]
    trees = [ast.parse(textwrap.dedent(inspect.getsource(one))) for one in written]
    calls = [
        n.exc for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Raise) and isinstance(n.exc, ast.Call)
    ]
    return {name for call in calls if (name := ast.unparse(call.func).rpartition(".")[2]) in OUR_ERRORS}


def is_made_by_functions(thing: Any) -> bool:
    """Whether a class documents its attributes and no parameters, because users do not create it."""
    listed = inspect.isclass(thing) and sections_of(thing)
    return bool(listed and listed["Attributes"] and not listed["Parameters"])


def faults_of_attributes(of: Public) -> list[str]:
    """Return the faults of the section Attributes, which numpydoc does not check."""
    if not inspect.isclass(of.thing):
        return []
    described = {
        name.strip(): (kind, text) for names, kind, text in sections(of)["Attributes"] for name in names.split(",")
    }
    found = [f"ATTRIBUTES: {name} has no type" for name, (kind, _) in described.items() if not kind]
    found += [f"ATTRIBUTES: {name} has no description" for name, (_, text) in described.items() if not any(text)]
    found += [f"ATTRIBUTES: {name} does not exist" for name in sorted(described.keys() - attributes_of(of.thing))]
    if is_made_by_functions(of.thing) and is_dataclass(of.thing):
        own = {field.name for field in fields(of.thing) if not field.name.startswith("_")}
        found += [f"ATTRIBUTES: {name} is not described" for name in sorted(own - described.keys())]
    return found


@functools.cache
def attributes_of(cls: type) -> set[str]:
    """Return members, annotated names, and what the methods assign to an object, also in ``self.a, self.b = ...``."""
    ours = [base for base in cls.__mro__ if base.__module__.startswith("ltr_metrics.")]
    annotated = {name for base in ours for name in getattr(base, "__annotations__", {})}
    trees = [ast.parse(textwrap.dedent(inspect.getsource(base))) for base in ours]
    nodes_ = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    assigned = {node.attr for node in nodes_ if isinstance(node.ctx, ast.Store)}
    return {*dir(cls), *annotated, *assigned, *(SET_BY_SCIKIT_LEARN if hasattr(cls, "set_params") else ())}


# -- what Sphinx adds to docutils ------------------------------------------------------------------


class _Content(Directive):
    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        box = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


@functools.cache
def _template() -> Any:
    """Register what Sphinx adds to docutils, and return numpydoc's template, compiled once."""
    for name in ("seealso", "only", "versionadded", "versionchanged"):
        directives.register_directive(name, _Content)
    for name in ("obj", "class", "func", "meth", "mod", "ref", "doc", "term"):
        roles.register_generic_role(name, nodes.literal)
    return SphinxDocString("").template


# -- equal parameters have equal words -------------------------------------------------------------

# How the description of a shared parameter begins. A parameter with another meaning elsewhere, such as the name of a
# column, has a second beginning. A beginning without a full stop is continued in its own way.
WORDING: dict[str, tuple[str, ...]] = {
    "metrics": ('Names (``"ndcg@10"``) or metric objects (``NDCG(k=10)``).',),
    "y_true": ("Grades, finite and not negative.", "Grades. Leave them out if", "Whole grades, for which"),
    "y_score": ("Scores; higher is better.",),
    "qid": (
        "One id per row, ",
        "Column of ",
        "Columns of grades, scores and query ids.",
        "Columns of query ids and grades",
        "Names of the columns of query ids and grades.",
        "Grades, scores and query ids",
    ),
    "group": ("Sizes of the queries, whose rows are consecutive.",),
    "ties": ("Treatment of tied scores", "The order of documents with equal scores"),
    "no_relevant": ("Treatment of a query on which a metric is undefined", "Share of queries"),
    "convention": ("Another system, whose choices complete the metric names",),
    "query_weight": ("One weight per query, in order of first appearance, or by qid.",),
    "sample_weight": ("One weight per row; a query's weight is the mean of its row weights.",),
    "retrieved": ("False for a document that is judged but has no rank.",),
    "judged": ("False for an unjudged document.",),
    "unjudged": ("Treatment of unjudged documents: grade 0 (default), or removal from the ranking,",),
    "columns": (
        "Names of the columns that the function reads.",
        "Other numbers of the documents, for ``mean_of(name)`` and ``sum_of(name)``.",
        "Other required columns,",
    ),
    "n_threads": ("Maximum number of threads.",),
    "log": ("Records the values per query of every ", "The log of a training.", "Impressions with rankings,"),
    "names": ("Names in ", "Names of a training's data sets"),
    "random_state": ("Random seed. ",),
    "confidence": ("Confidence level of the ",),
    "**data": ("``qid`` or ``group``, and the other options of `ltr_metrics.Queries`.",),
}


def faults_of_wording(of: Public) -> list[str]:
    """Return the shared parameters that are described in words of their own."""
    return [
        f"WORDING: {name} must begin like one of {WORDING[name]}. It begins {text[:80]!r}"
        for name, text in shared_parameters(of)
        if not text.startswith(WORDING[name])
    ]


def shared_parameters(of: Public) -> Iterator[tuple[str, str]]:
    """Yield the shared parameters of an object and their descriptions, each on one line."""
    for names, _, text in sections(of)["Parameters"]:
        yield from ((name, " ".join(text)) for name in names.split(", ") if name in WORDING)
