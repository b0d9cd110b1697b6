"""For `spark-submit`: the jobs of `goqueue pipeline`, with the same words, on the cluster that was chosen there."""

import sys

if __name__ == "__main__":
    from importlib import import_module

    # By name: the command line lies above this package.
    sys.exit(import_module("goqueue.cli.main").main(["pipeline", *sys.argv[1:]]))
