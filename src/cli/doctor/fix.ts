/** `doctor --fix`: says what it will do, keeps a copy of what it changes, and does it. */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors.ts'
import { timestamp } from '../../ports/clock.ts'
import { ensurePrivateDirectory } from '../../system/home.ts'
import type { Invocation } from '../cli.ts'
import { broken, type Finding } from './finding.ts'

export interface Fixed {
  check: string
  did: string
  /** Copies of the files as they were before. */
  backups: string[]
}

/** Fixes what can be fixed. Resolves with what was done, and with a finding for each fix that was refused. */
export async function applyFixes(
  invocation: Invocation,
  findings: readonly Finding[],
): Promise<{ fixed: Fixed[]; refused: Finding[] }> {
  const fixable = findings.flatMap(({ check, fix }) => (fix === undefined ? [] : [{ check, fix }]))
  for (const { check, fix } of fixable) invocation.out.note(`${check}: ${fix.does}`)
  const folder = path.join(
    invocation.home.root,
    'backups',
    timestamp(invocation.cli.clock).replaceAll(/[:.]/g, '-'),
  )
  const fixed: Fixed[] = []
  const refused: Finding[] = []
  for (const { check, fix } of fixable) {
    try {
      const backups = fix.changes.flatMap((file) => backUp(folder, file) ?? [])
      for (const backup of backups) invocation.out.note(`${check}: as it was: ${backup}`)
      await fix.run()
      fixed.push({ check, did: fix.does, backups })
    } catch (error) {
      refused.push(refusedFix(check, error))
    }
  }
  return { fixed, refused }
}

/** Any error: one fix that fails must keep neither the others from being applied nor the findings from being printed. */
function refusedFix(check: string, error: unknown): Finding {
  const name = `${check} --fix`
  if (error instanceof TurnbellError) return broken(name, error.detail, error.hint)
  const detail = error instanceof Error ? error.message : String(error)
  return broken(name, detail, 'Remove the cause, then run `turnbell doctor --fix` again.')
}

/** The copy; null where there is no such file. */
function backUp(folder: string, file: string): string | null {
  if (!fs.existsSync(file)) return null
  ensurePrivateDirectory(path.dirname(folder))
  ensurePrivateDirectory(folder)
  const number = fs.readdirSync(folder).length + 1
  const copy = path.join(folder, `${number}-${path.basename(file)}`)
  fs.copyFileSync(file, copy)
  return copy
}
