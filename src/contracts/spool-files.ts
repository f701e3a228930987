/** The files of a home's spool; see `spool.ts` for what stands in them. */

/** To which lines are written. */
export const SPOOL_FILE = 'hooks.jsonl'
/** What was set aside, with the reasons: kept for a person, and waiting for nothing. */
export const SPOOL_REJECTED_FILE = 'rejected.jsonl'
/** What was set aside before that, once there was too much of it. */
export const SPOOL_REJECTED_OLDER_FILE = 'rejected.1.jsonl'
