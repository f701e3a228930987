/** Rewrites a file that other programs also write, to remove invalid records; quarantines and reports these records. */
import type { SingleFileOptions } from './single-file-records.ts'
import { quarantineLines, type RejectedLine } from '../records/quarantine-lines.ts'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'

export interface FileCleaner {
  /** Runs the rewrite if the file may be written now and no other process writes it. Otherwise a later read tries again. */
  clean(
    bytes: Buffer,
    invalid: readonly RejectedLine[],
    work: (mayChange: () => void) => Promise<void>,
  ): Promise<void>
  /**
   * Repeats the attempt until it returns true, because other programs may change the file at the same time. In all attempts,
   * `quarantine` stores each line once. Throws `store_unavailable` after too many attempts.
   */
  rewrite(
    mayChange: () => void,
    attempt: (quarantine: (rejects: readonly RejectedLine[]) => void) => Promise<boolean>,
  ): Promise<void>
  /** Reports lines that were quarantined. */
  reportQuarantined(rejects: readonly RejectedLine[]): void
}

export function createFileCleaner({
  file,
  rejected,
  exclusively,
  onRejected,
}: SingleFileOptions): FileCleaner {
  /** Content that could not be rewritten and was reported. */
  let reported: Buffer | null = null
  const reported_lines = new Set<string>()

  const report = (rejects: readonly RejectedLine[], kept_in: string | null) => {
    const [first] = rejects
    if (first === undefined) return
    const more = rejects.length === 1 ? '' : `, and ${rejects.length - 1} more`
    onRejected({ file, kept_in, reason: `${shown(first.line)}: ${first.reason}${more}` })
  }

  return {
    async clean(bytes, invalid, work) {
      if (reported === bytes) return
      try {
        await exclusively(work)
      } catch (error) {
        if (!(error instanceof TurnbellError)) throw error
        reported = bytes
        const fresh = invalid.filter(({ line }) => !reported_lines.has(line.toString('latin1')))
        for (const { line } of fresh) reported_lines.add(line.toString('latin1'))
        report(fresh, null)
      }
    },
    async rewrite(mayChange, attempt) {
      const quarantined = new Set<string>()
      const quarantine = (rejects: readonly RejectedLine[]) => {
        const fresh = rejects.filter(({ line }) => !quarantined.has(line.toString('latin1')))
        if (fresh.length === 0) return
        mayChange()
        quarantineLines(rejected, fresh)
        for (const { line } of fresh) quarantined.add(line.toString('latin1'))
      }
      for (let tries = 1; tries <= LIMITS.file_rewrites_max; tries += 1) {
        if (await attempt(quarantine)) return
      }
      throw new TurnbellError('store_unavailable', {
        detail: `${file} cannot be rewritten, because another program keeps changing it`,
        hint: 'Find the program that keeps writing it, then call again.',
      })
    },
    reportQuarantined: (rejects) => report(rejects, rejected),
  }
}

const SHOWN_MAX = 80

function shown(line: Buffer): string {
  const text = line.toString('utf8').trim()
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text
}
