// Limits of a verdict. The host refuses a verdict beyond its own limits, which are a little above these.

/** Different failures in one verdict; the host accepts 4,096. What is beyond keeps its status alone, three failures. */
export const FAILURES = 4093;

/** UTF-16 units of all reasons of one verdict. The host accepts a megabyte of UTF-8, of which a unit takes at most 3 bytes. */
export const REASON_UNITS = 256 * 1024;

/** UTF-16 units of one reason. The host cuts reasons after 1,024 bytes. */
export const REASON_LENGTH = 1024;

/** UTF-16 units of the text about an exception. The host cuts a line after 1,024 bytes. */
export const ERROR_LENGTH = 1000;

/** Places of a stack that the text about an exception names. */
export const PLACES = 4;
