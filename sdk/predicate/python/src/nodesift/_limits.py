"""Limits of a verdict and of lines. The host refuses a verdict beyond its own limits, which are a little above these."""

FAILURES = 4093
"""Different failures in one verdict; the host accepts 4,096. What is beyond keeps its status alone, three failures."""

REASON_BYTES = 768 * 1024
"""Bytes of all reasons of one verdict; the host accepts a megabyte, with what it counts for each."""

REASON_ENTRY_BYTES = 32
"""Bytes that the host counts for a reason besides its text, at most."""

REASON_LENGTH = 1024
"""Characters of one reason. The host cuts reasons after 1,024 bytes."""

ERROR_LENGTH = 1000
"""Characters of the text about an exception. The host cuts a line after 1,024 bytes."""

PLACES = 4
"""Places of a traceback that the text about an exception names."""

SOURCE_LENGTH = 120
"""Characters of the line of source in that text."""
