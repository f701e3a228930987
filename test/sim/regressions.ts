export interface Regression {
  seed: number
  steps: number
  /** Those that were needed, as `--only` takes them. */
  only: string
  /** What had gone wrong, and which of `mutants/list.mjs` brings it back. */
  found: string
  bug: string
}

/**
 * Runs in which a bug that was once there breaks a promise. Whatever changes what a seed makes of a run makes other runs of
 * these: `npm run mutants` then says so, and they are looked for anew, with the bug planted.
 */
export const REGRESSIONS: readonly Regression[] = [
  {
    seed: 2,
    steps: 500,
    only: '1-432',
    found: 'a drain confirmed by the end of a turn that was said before its answer came',
    bug: 'drain confirmed by what was on its way before it',
  },
  {
    seed: 7,
    steps: 500,
    only: '280,282',
    found: 'lines of a killed hub whose sync had failed, synced again for nothing',
    bug: 'what a failed sync lost is only synced again',
  },
  {
    seed: 19,
    steps: 500,
    only: '110-111,132,134',
    found: 'a replaced hub that cut off what its successor had found',
    bug: 'stale hub cuts off what its successor keeps',
  },
]
