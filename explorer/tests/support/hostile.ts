// Text that a browser must not run, reorder by, or hide, for answers that tests change. The same as in cluster.mjs, with types.

export const HOSTILE = '<img src=x onerror="document.title=1">\u202egnp.\u200b=1';
