"""The forms of an explanation: text, JSON, Graphviz, SVG, HTML. Each takes a tree and gives a string."""
