/** Messages of the log of a kept agent's shim, which doctor reads. */

/** Followed by a colon and the reason. */
export const SESSION_NOT_OPENED = 'agent session could not be opened'
export const SESSION_OPENED = 'agent session opened'
/** Of the daemon: the lines before it are of another shim. */
export const SHIM_STARTED = 'shim started'
