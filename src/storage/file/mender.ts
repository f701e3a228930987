/** Takes what is no record out of a file, for a reader who has found it there. */
import type { RecordPlaceOptions } from './record-place.ts'
import type { RejectedLine } from './rejected-lines.ts'
import { TurnbellError } from '../../contracts/errors.ts'

export interface Mender {
  /** Where the file may be written now, and nobody else is at it; otherwise a later look finds the same again. */
  mend(
    bytes: Buffer,
    troubled: readonly RejectedLine[],
    work: (mayChange: () => void) => Promise<void>,
  ): Promise<void>
  /** These are among the rejected by now. */
  told(rejects: readonly RejectedLine[]): void
}

export function createMender({ file, rejected, alone, onRejected }: RecordPlaceOptions): Mender {
  /** What could not be mended, and was told of. */
  let staying: Buffer | null = null
  const lines_told = new Set<string>()

  const tell = (rejects: readonly RejectedLine[], kept_in: string | null) => {
    const [first] = rejects
    if (first === undefined) return
    const more = rejects.length === 1 ? '' : `, and ${rejects.length - 1} more`
    onRejected({ file, kept_in, reason: `${shown(first.line)}: ${first.reason}${more}` })
  }

  return {
    async mend(bytes, troubled, work) {
      if (staying === bytes) return
      try {
        await alone(work)
      } catch (error) {
        if (!(error instanceof TurnbellError)) throw error
        staying = bytes
        const fresh = troubled.filter(({ line }) => !lines_told.has(line.toString('latin1')))
        for (const { line } of fresh) lines_told.add(line.toString('latin1'))
        tell(fresh, null)
      }
    },
    told: (rejects) => tell(rejects, rejected),
  }
}

const SHOWN_MAX = 80

function shown(line: Buffer): string {
  const text = line.toString('utf8').trim()
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text
}
