/** Where a path leads. `src/system/places.ts` looks. */
export interface Places {
  /**
   * The one path of what stands there, however it is reached: absolute, all links followed. Of what is not there, the
   * part that is. Never throws.
   */
  real(path: string): string
}
