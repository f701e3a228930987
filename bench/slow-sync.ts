/** Sync time of a hard disk or a busy network volume, in milliseconds. */
export const SLOW_SYNC_MS = 8
