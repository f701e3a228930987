/** Checks the spool: lines of hooks for the next hub, and quarantined lines. */
import fs from 'node:fs'
import path from 'node:path'
import { parseJsonAs } from '../../contracts/validation/json.ts'
import { SPOOL_FILE, SPOOL_MOVED_SUFFIX, SPOOL_REJECTED_FILE, Spooled } from '../../contracts/spool/spool.ts'
import { shellWord } from '../../system/process/shell-word.ts'
import type { Invocation } from '../cli.ts'
import { count } from '../render.ts'
import { broken, fine, warning, type Finding } from './finding.ts'

/** Maximum number of bytes that are read from the beginning of a file. */
const LOOK_BYTES_MAX = 4 * 1024 * 1024

export function checkSpool({ home }: Invocation): Finding[] {
  if (!fs.existsSync(home.spool)) return []
  return [
    checkPending(path.join(home.spool, SPOOL_FILE)),
    ...checkQuarantine(path.join(home.spool, SPOOL_REJECTED_FILE)),
    ...checkOtherEntries(home.spool),
  ]
}

function checkPending(file: string): Finding {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (stat === undefined || (stat.isFile() && stat.size === 0)) return fine('spool', 'nothing waits')
  if (!stat.isFile())
    return broken(
      'spool',
      `${file} is not a plain file`,
      `Move it away: \`mv ${shellWord(file)} /tmp/\`. turnbell recreates it.`,
    )
  const whole = stat.size <= LOOK_BYTES_MAX
  const lines = linesOf(file, whole)
  const junk = lines.filter((line) => parseJsonAs(Spooled, line) === null).length
  const total = `${whole ? '' : 'more than '}${count(lines.length, 'line')}`
  if (junk === 0) return fine('spool', `${total} for the next hub`)
  return warning(
    'spool',
    `${junk} of ${total} in ${file} cannot be read`,
    `Find out what writes there. The next hub moves these lines to ${SPOOL_REJECTED_FILE} in the same folder.`,
  )
}

function checkQuarantine(file: string): Finding[] {
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

/** Reports entries that had the name of a spool file, were not plain files, and were renamed. */
function checkOtherEntries(spool: string): Finding[] {
  const others = fs.readdirSync(spool).filter((name) => name.endsWith(SPOOL_MOVED_SUFFIX))
  return others.map((name) => {
    const file = path.join(spool, name)
    return warning(
      'spool',
      `${name.split('.')[0]} in ${spool} was a link, a pipe or a directory and was renamed to ${name}`,
      `Find out what created it, then remove it: \`rm -r ${shellWord(file)}\`.`,
    )
  })
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
