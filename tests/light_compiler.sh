#!/bin/sh
# The C++ compiler of the quick tests, set by conftest.py: of several -O the last one counts.
[ "$1" = --version ] && echo "for tests, -O1" # part of the program's key: no user finds these
exec g++ "$@" -O1
