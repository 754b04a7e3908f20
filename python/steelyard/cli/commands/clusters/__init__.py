"""Commands on a whole cluster that do not fit beside the others."""
