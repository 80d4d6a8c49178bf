"""One evaluation: `evaluate`, its result, saved results, parts, files larger than memory."""
