/** What keeps a call from a project's memory. */
export const MEMORY_READ_ERRORS = ['project_unknown', 'store_unavailable'] as const
