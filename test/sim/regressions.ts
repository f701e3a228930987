export interface Regression {
  seed: number
  steps: number
  /** The steps needed to reproduce the failure, in the format of `--only`. */
  only: string
  /** What was wrong, and the entry of `mutants/list.mjs` that restores the bug. */
  found: string
  bug: string
}

/**
 * Runs in which a fixed bug once broke a promise. A change to how a seed determines a run makes these runs useless.
 * `npm run mutants` then reports them, and they must be found again with the bug planted.
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
    seed: 81,
    steps: 500,
    only: '8-10',
    found: 'a drain confirmed by the first word of a shim that had come in the middle of its turn',
    bug: 'drain confirmed by a shim that counts anew',
  },
  {
    seed: 6,
    steps: 2000,
    only: '712,729,824,864-866,871-872',
    found: 'a bell for what a shim had said before another one took its place',
    bug: 'a shim that is the surface again believed without being asked',
  },
]
