"""Settings of the documentation site. `make docs` builds it without the network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS), str(DOCS / "_ext")]

import ltr_metrics  # noqa: E402

project = "ltr_metrics"
author = "The ltr_metrics developers"
project_copyright = author
version = release = ltr_metrics.__version__

extensions = [
    "myst_nb",  # pages and notebooks
    "numpydoc",  # docstrings
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "links_to_repository",
    "api_index",
    "example_page",
    "gallery_style",
    "language_models",
    "metrics_table",
    "offline_math",
    "outputs",
    "references",
]
exclude_patterns = ["_build", "gallery", "auto_gallery/**/*.ipynb"]
smartquotes = False  # a quote may be part of a value, such as "exp"
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # the gallery's order is a function, which Sphinx cannot cache

# Pages are GitHub's Markdown with formulas. Headings get the anchors that GitHub gives them.
# The start page gives its cards and its two pictures classes.
myst_enable_extensions = ["dollarmath", "amsmath", "attrs_block", "attrs_inline"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # a test executes the notebook; the site shows the stored output

# Docstrings state types in words, so signatures show the names and defaults only.
default_role = "py:obj"
autodoc_typehints = "none"
autodoc_inherit_docstrings = False  # else each metric would repeat the methods of its base class
autodoc_mock_imports = ["catboost", "dask", "distributed", "pyspark", "xgboost"]  # imported, but not called here
autosummary_generate = True
# A page of a class has the members of its private bases, but not those of these, which have pages or are not ours.
OTHER_PAGES = (
    "Metric, RankMetric, GainMetric, BinaryMetric, Method, LabelledQueries, "
    "Mapping, BaseEstimator, _MetadataRequester, BaseException, dict, tuple"
)
INTERNAL_OF_QUERIES = (  # which no metric calls
    *("known", "of_ids", "of_queries", "by_query_id", "find_repetition", "docid_descending", "evaluate_request"),
    *("with_retrieved", "restrict_ranking", "warn_of_ids", "give_no_warnings"),
    *("refuse_nan_scores", "refuse_other_index", "refuse_repeated_documents"),
)
autosummary_context = {
    "documented_elsewhere": OTHER_PAGES,
    "internal": ", ".join((*ltr_metrics.Evaluation.INTERNAL, *INTERNAL_OF_QUERIES)),
}
numpydoc_show_class_members = False  # the page of a class has its members
numpydoc_validation_checks = {  # all but those with a reason
    "all",
    "ES01",  # an extended summary, where the first line says it all
    "GL01",  # the summary starts on the line of the quotes
    "GL08",  # methods that override documented ones
    "PR01",  # the parameters of a result class, which users do not make
    "PR02",  # attributes that are documented as such
    "RT01",  # what a property returns
    "SA01",  # related names of every method
    "EX01",  # an example for every method
    "YD01",  # what a generator yields
}
nitpicky = True
OTHER_LIBRARIES = (
    "catboost dask dataclasses lightgbm matplotlib mlflow numpy optuna pandas pyspark scipy sklearn xgboost"
)
nitpick_ignore_regex = [("py:.*", rf"({OTHER_LIBRARIES.replace(' ', '|')})(\..*)?")]  # their sites need the network

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"plot_",
    "nested_sections": False,
    "subsection_order": [f"gallery/{group}" for group in ("models", "numbers", "clicks")],
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
    "capture_repr": (),  # what a script prints is enough
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", "gallery_style.use_style"),
}

toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 88  # longer ones have a line for each parameter

html_theme = "pydata_sphinx_theme"
html_title = "ltr_metrics"
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", "")
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_search_scorer = str(DOCS / "_static" / "scorer.js")
html_css_files = ["site.css"]
ABOUT = "Ranking metrics per query for LightGBM, XGBoost and scikit-learn, with comparisons, gates and reports."
myst_html_meta = {"description": ABOUT, "property=og:title": "ltr_metrics", "property=og:description": ABOUT}
if html_baseurl:  # a picture for links needs a whole address
    myst_html_meta["property=og:image"] = f"{html_baseurl.rstrip('/')}/_static/report.png"
html_show_sourcelink = False
html_sidebars = {"index": [], "changelog": [], "contributing": [], "security": [], "glossary": []}
html_theme_options = {
    "github_url": "https://github.com/ltr-metrics/ltr_metrics",
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
linkcheck_ignore = [r"https://github\.com/ltr-metrics/.*"]  # until the first release
