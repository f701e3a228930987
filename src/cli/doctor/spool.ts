/** What hooks have left for a hub that was away. */
import fs from 'node:fs'
import path from 'node:path'
import { jsonAs } from '../../contracts/json.ts'
import { SPOOL_FILE, SPOOL_REJECTED_FILE } from '../../contracts/spool-files.ts'
import { Spooled } from '../../contracts/spool.ts'
import { shellWord } from '../../system/shell-word.ts'
import type { Invocation } from '../cli.ts'
import { count } from '../render.ts'
import { broken, fine, warning, type Finding } from './finding.ts'

/** Of a larger spool only the beginning is looked at. */
const LOOK_BYTES_MAX = 4 * 1024 * 1024

export function checkSpool({ home }: Invocation): Finding[] {
  if (!fs.existsSync(home.spool)) return []
  return [
    ofWaiting(path.join(home.spool, SPOOL_FILE)),
    ...ofRejected(path.join(home.spool, SPOOL_REJECTED_FILE)),
  ]
}

function ofWaiting(file: string): Finding {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (stat === undefined || (stat.isFile() && stat.size === 0)) return fine('spool', 'nothing waits')
  if (!stat.isFile())
    return broken(
      'spool',
      `${file} is not a plain file`,
      `Move it away: \`mv ${shellWord(file)} /tmp/\`. It is made again.`,
    )
  const whole = stat.size <= LOOK_BYTES_MAX
  const lines = linesOf(file, whole)
  const junk = lines.filter((line) => jsonAs(Spooled, line) === null).length
  const many = `${whole ? '' : 'more than '}${count(lines.length, 'line')}`
  if (junk === 0) return fine('spool', `${many} for the next hub to take in`)
  return warning(
    'spool',
    `${junk} of ${many} in ${file} cannot be read`,
    `A hub moves them to ${SPOOL_REJECTED_FILE} beside it when it takes in the others; see who writes there.`,
  )
}

function ofRejected(file: string): Finding[] {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (stat === undefined || (stat.isFile() && stat.size === 0)) return []
  if (!stat.isFile())
    return [broken('spool', `${file} is not a plain file`, `Move it away: \`mv ${shellWord(file)} /tmp/\`.`)]
  const lines = linesOf(file, stat.size <= LOOK_BYTES_MAX)
  return [
    warning(
      'spool',
      `${count(lines.length, 'line')} quarantined in ${file}, each with its reason`,
      `Read them, then \`rm ${shellWord(file)}\`.`,
    ),
  ]
}

function linesOf(file: string, whole: boolean): string[] {
  const fd = fs.openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(LOOK_BYTES_MAX)
    const lines = bytes.toString('utf8', 0, fs.readSync(fd, bytes, 0, bytes.length, 0)).split('\n')
    return (whole ? lines : lines.slice(0, -1)).filter((line) => line.trim() !== '')
  } finally {
    fs.closeSync(fd)
  }
}
