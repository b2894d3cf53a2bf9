"""Values as HTML and SVG for notebooks, from plain Python values.

Promise: every text that comes from data is escaped, nothing holds a script or a link, sizes are bounded and what is
left out is said. Colours are readable on light and on dark pages. It needs nothing but Python and NumPy.
"""
