/** Signals that ask a process to end: a supervisor, Ctrl-C, a closed terminal. */
export const TERMINATION_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
