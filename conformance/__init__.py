"""Conformance: our conventions against the live systems, each in an environment of its own.

`make conformance` makes the environments and runs this package in each of them. It is apart from
the tests, since the systems need gigabytes, and some of them exclude each other's versions.
"""
