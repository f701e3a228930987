/** A result of `turnbell doctor`. */
import { toProblem, TurnbellError } from '../../contracts/errors/errors.ts'
import type { Ids } from '../../ports/random.ts'

export interface Finding {
  /** Subject of the check: `home`, `hub`, `daemon ada`, `client codex`. */
  check: string
  /** `warning`: it works with limits. `broken`: it does not work. */
  state: 'ok' | 'warning' | 'broken'
  detail: string
  /** The next step for the person; null if there is nothing to do. */
  hint: string | null
  /** The repair by `doctor --fix`. */
  fix?: Fix
}

/** A finding in `doctor --json`, where the hint is called `mend`. */
export type FindingDocument = ReturnType<typeof documentOf>

export function documentOf({ fix, hint, ...finding }: Finding) {
  return { ...finding, mend: hint, fixable: fix !== undefined }
}

export interface Fix {
  /** Description in the imperative: `write .codex/hooks.json again`. */
  does: string
  /** Files to copy before `run` changes them. */
  changes: readonly string[]
  run(): Promise<void>
}

export const fine = (check: string, detail: string): Finding => ({ check, state: 'ok', detail, hint: null })

export const warning = (check: string, detail: string, hint: string): Finding => ({
  check,
  state: 'warning',
  detail,
  hint,
})

export const broken = (check: string, detail: string, hint: string): Finding => ({
  check,
  state: 'broken',
  detail,
  hint,
})

/** Returns a finding with the detail and hint of a refusal. Rethrows any other error. */
export function refusedBy(check: string, error: unknown, ids: Pick<Ids, 'next'>): Finding {
  if (!(error instanceof TurnbellError)) throw error
  const { detail, hint } = toProblem(error, ids.next())
  return broken(check, detail, hint)
}

/** Adds a repair to a finding. */
export const fixedBy = (finding: Finding, fix: Fix): Finding => ({ ...finding, fix })
