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
    seed: 173,
    steps: 500,
    only: '9,12-13,18,20,27-28,34',
    found: 'a drain confirmed by the end of a turn that was said before its answer came',
  },
  {
    seed: 533,
    steps: 500,
    only: '226,257-259,261-263,266-267,294,299-301',
    found: 'lines of a killed hub whose sync had failed, synced again for nothing',
  },
  {
    seed: 119,
    steps: 500,
    only: '57-63,95-96,129-143,160-171,184-239,468-475,492-499',
    found: 'a replaced hub that cut off what its successor had found',
  },
]
