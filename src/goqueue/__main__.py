"""`python -m goqueue` is the same as `goqueue`."""

import sys

from goqueue.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
