"""What generated code calls: the operators of TLA+ and of its standard modules, on values.

Every function raises :class:`TlaError` (or its subclass for wrong kinds) where TLC reports an error.
Generated code imports each name of the modules' ``__all__`` with an underscore before it, which no name of a
specification has.
"""
