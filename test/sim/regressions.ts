export interface Regression {
  seed: number
  steps: number
  /** Those that were needed, as `--only` takes them. */
  only: string
  /** What had gone wrong. */
  found: string
}

/** Runs that once broke a promise. */
export const REGRESSIONS: readonly Regression[] = [
  {
    seed: 173,
    steps: 500,
    only: '264-267',
    found: 'a drain confirmed by the end of a turn that was said before its answer came',
  },
  {
    seed: 1622,
    steps: 2000,
    only: '24-26,31-36,38-39,84',
    found: 'lines of a killed hub whose sync had failed, synced again for nothing',
  },
  {
    seed: 2036,
    steps: 2000,
    only: '407,423-426,429-430,432',
    found: 'a replaced hub that cut off what its successor had found',
  },
]
