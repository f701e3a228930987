/** What asks a process of ours to end: a supervisor, Ctrl-C, a terminal that is closed. */
export const TERMINATION_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
