export const TARGET_NAMES: readonly string[]
