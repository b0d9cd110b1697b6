"""The command line: one file per noun, each imported only when it is asked for."""
