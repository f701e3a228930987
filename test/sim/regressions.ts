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
    seed: 12,
    steps: 500,
    only: '1-64',
    found: 'a drain confirmed by the end of a turn that was said before its answer came',
    bug: 'drain confirmed by what was on its way before it',
  },
  {
    seed: 13,
    steps: 500,
    only: '478,481',
    found: 'lines of a killed hub whose sync had failed, synced again for nothing',
    bug: 'what a failed sync lost is only synced again',
  },
  {
    seed: 71,
    steps: 500,
    only: '17-18,33',
    found: 'a replaced hub that cut off what its successor had found',
    bug: 'stale hub cuts off what its successor keeps',
  },
  {
    seed: 80,
    steps: 500,
    only: '5,8',
    found: 'a drain confirmed by the first word of a shim that had come in the middle of its turn',
    bug: 'drain confirmed by a shim that counts anew',
  },
]
