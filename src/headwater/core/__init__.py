"""Words that every stage uses: source spans, diagnostics, errors, types and functions."""
