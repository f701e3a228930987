/** Regular expressions of others: one that never comes to an end must not stop the hub. */
export interface Patterns {
  /** @throws `params_invalid` for what is no pattern, and for one that takes too long with this text. */
  matches(pattern: string, text: string): boolean
}
