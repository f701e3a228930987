/** Runs that once broke a promise. Each begins with its seed and holds only the steps that were needed. */
export const REGRESSIONS: readonly { seed: number; steps: number; only: string; found: string }[] = []
