/** What a spinning disk or a busy network volume takes for a sync. */
export const SLOW_SYNC_MS = 8
