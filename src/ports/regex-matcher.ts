/** Matches untrusted regular expressions. A pattern that never ends must not block the hub. */
export interface RegexMatcher {
  /** @throws `params_invalid` for an invalid pattern, and for one that takes too long on this text. */
  matches(pattern: string, text: string): boolean
}
