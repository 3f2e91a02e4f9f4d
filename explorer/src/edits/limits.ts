// Limits of what-ifs, each with its unit and its reason.

/** Nodes that edits add at most, one or all together: the number that an overlay holds. */
export const COPIES = 1_000;

/** Nodes that edits of taints fetch for one what-if, each by a call of its own: whoever opens a link has not asked for a thousand calls. */
export const NODES = 100;

/** Edits of one what-if: more rows than these are no longer compared at a glance. */
export const EDITS = 32;

/** Bytes of the edits in a link: proxies and ticket systems cut longer addresses. */
export const LINK_BYTES = 4_096;

/** Objects that are fetched at a time: browsers open about six connections to one host. */
export const FETCHES = 6;

/** Bytes of a question with all objects that edits change: what the explorer's listener takes. A larger one ends the connection. */
export const QUESTION_BYTES = 1 << 20;

/** Cordoned nodes that are uncordoned together to find one that would help: each is fetched by a call of its own. */
export const CORDONED = 16;

/** Near nodes of which a copy is tried: each is one more evaluation. */
export const COPIED = 2;

/** Nodes of the largest cluster for which edits of nodes are tried, as on the command line. */
export const HELP_NODES = 5_000;
