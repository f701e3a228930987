/** What a process weighs: resident memory and open descriptors, as Linux tells them below /proc. */
import fs from 'node:fs'

export interface Weight {
  /** Milliseconds on `performance`'s clock. */
  at: number
  rss_mib: number
  fds: number
  /** Of them. */
  sockets: number
}

/** Null for a process that is gone. */
export function weigh(pid: number): Weight | null {
  try {
    const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
    const rss_kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
    if (Number.isNaN(rss_kib)) return null
    const fds = fs.readdirSync(`/proc/${pid}/fd`)
    const sockets = fds.filter((fd) => linkOf(`/proc/${pid}/fd/${fd}`).startsWith('socket:')).length
    return { at: performance.now(), rss_mib: rss_kib / 1024, fds: fds.length, sockets }
  } catch {
    return null
  }
}

function linkOf(file: string): string {
  try {
    return fs.readlinkSync(file)
  } catch {
    // Closed in between.
    return ''
  }
}

/** How much a value grows in a minute: the line of least squares through what was weighed, at least twice. */
export function slope(weights: readonly Weight[], of: (weight: Weight) => number): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [at, value] = [mean(weights.map((one) => one.at)), mean(weights.map(of))]
  const over = weights.reduce((sum, one) => sum + (one.at - at) * (of(one) - value), 0)
  const under = weights.reduce((sum, one) => sum + (one.at - at) ** 2, 0)
  return under === 0 ? 0 : (over / under) * 60_000
}

/** Bytes of all files below a directory. */
export function bytesBelow(directory: string): number {
  let sum = 0
  for (const entry of entriesIn(directory)) {
    const name = `${directory}/${entry.name}`
    if (entry.isDirectory()) sum += bytesBelow(name)
    // A file may be let go between the list and the look.
    else if (entry.isFile()) sum += fs.statSync(name, { throwIfNoEntry: false })?.size ?? 0
  }
  return sum
}

/** None of a directory that is not there, or no more. */
function entriesIn(directory: string): fs.Dirent[] {
  try {
    return fs.readdirSync(directory, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
