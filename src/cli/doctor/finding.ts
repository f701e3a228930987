/** What `turnbell doctor` found out about one thing. */
import { toProblem, TurnbellError } from '../../contracts/errors.ts'
import type { Ids } from '../../ports/random.ts'

export interface Finding {
  /** What was looked at: `home`, `hub`, `daemon ada`, `client codex`. */
  check: string
  /** `warning` works, but not as well as it could; `broken` does not. */
  state: 'ok' | 'warning' | 'broken'
  detail: string
  /** What to do about it; null where nothing is to be done. */
  mend: string | null
  /** What `doctor --fix` does about it. */
  fix?: Fix
}

export interface Fix {
  /** What it will do, as an imperative: `write .codex/hooks.json again`. */
  does: string
  /** Files that are copied before it changes them. */
  changes: readonly string[]
  run(): Promise<void>
}

export const fine = (check: string, detail: string): Finding => ({ check, state: 'ok', detail, mend: null })

export const warning = (check: string, detail: string, mend: string): Finding => ({
  check,
  state: 'warning',
  detail,
  mend,
})

export const broken = (check: string, detail: string, mend: string): Finding => ({
  check,
  state: 'broken',
  detail,
  mend,
})

/** The detail and the hint of a refusal. Rethrows anything else. */
export function refusedBy(check: string, error: unknown, ids: Pick<Ids, 'next'>): Finding {
  if (!(error instanceof TurnbellError)) throw error
  const { detail, hint } = toProblem(error, ids.next())
  return broken(check, detail, hint)
}

/** A finding with the fix that `doctor --fix` applies. */
export const fixedBy = (finding: Finding, fix: Fix): Finding => ({ ...finding, fix })
