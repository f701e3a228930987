export interface Regression {
  seed: number
  steps: number
  /** Those that were needed, as `--only` takes them. */
  only: string
  /** What had gone wrong. */
  found: string
}

/**
 * Runs in which a bug that was once there breaks a promise. Whatever changes what a seed makes of a run makes other runs of
 * these: then they are looked for anew, with the bug planted (`mutants/list.mjs`).
 */
export const REGRESSIONS: readonly Regression[] = [
  {
    seed: 165,
    steps: 500,
    only: '7-24,28-36,40-51,55-75,79-84,88-190',
    found: 'a drain confirmed by the end of a turn that was said before its answer came',
  },
  {
    seed: 7,
    steps: 500,
    only: '130-131',
    found: 'lines of a killed hub whose sync had failed, synced again for nothing',
  },
  {
    seed: 7,
    steps: 500,
    only: '129,131,133-139,144',
    found: 'a replaced hub that cut off what its successor had found',
  },
]
