"""Characters to syntax and back: the grammar, the parser that lists every mistake, the printer, the JSON form and
the Python words that build the same syntax. No name is resolved here.
"""
