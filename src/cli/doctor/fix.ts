/** `doctor --fix`: prints each repair, copies the files that it changes, and applies it. */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { timestamp } from '../../ports/clock.ts'
import { ensurePrivateDirectory } from '../../system/config/home.ts'
import type { Invocation } from '../cli.ts'
import { broken, type Finding } from './finding.ts'

export interface Fixed {
  check: string
  did: string
  /** Copies of the changed files. */
  backups: string[]
}

/** Applies all repairs. Resolves with the applied ones, and with a finding for each that failed. */
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
      for (const backup of backups) invocation.out.note(`${check}: backup: ${backup}`)
      await fix.run()
      fixed.push({ check, did: fix.does, backups })
    } catch (error) {
      refused.push(refusedFix(check, error))
    }
  }
  return { fixed, refused }
}

/** Accepts any error, so that a failed repair stops neither the other repairs nor the report. */
function refusedFix(check: string, error: unknown): Finding {
  const name = `${check} --fix`
  if (error instanceof TurnbellError) return broken(name, error.detail, error.hint)
  const detail = error instanceof Error ? error.message : String(error)
  return broken(name, detail, 'Remove the cause, then run `turnbell doctor --fix` again.')
}

/** Returns the path of the copy; null if there is no such file. */
function backUp(folder: string, file: string): string | null {
  if (!fs.existsSync(file)) return null
  ensurePrivateDirectory(path.dirname(folder))
  ensurePrivateDirectory(folder)
  const number = fs.readdirSync(folder).length + 1
  const copy = path.join(folder, `${number}-${path.basename(file)}`)
  fs.copyFileSync(file, copy)
  return copy
}
