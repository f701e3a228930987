/** Measures processes: resident memory and open descriptors from Linux's /proc. */
import fs from 'node:fs'

export interface Weight {
  /** Milliseconds on `performance`'s clock. */
  at: number
  rss_mib: number
  fds: number
  /** Number of sockets among the descriptors. */
  sockets: number
}

/** Returns null if the process has ended. */
export function weigh(pid: number): Weight | null {
  const rss_mib = rssMib(pid)
  if (rss_mib === null) return null
  try {
    const fds = fs.readdirSync(`/proc/${pid}/fd`)
    const sockets = fds.filter((fd) => linkOf(`/proc/${pid}/fd/${fd}`).startsWith('socket:')).length
    return { at: performance.now(), rss_mib, fds: fds.length, sockets }
  } catch {
    return null
  }
}

/** Returns only the resident memory. Null if the process has ended. */
export function rssMib(pid: number): number | null {
  try {
    const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
    const rss_kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
    return Number.isNaN(rss_kib) ? null : rss_kib / 1024
  } catch {
    return null
  }
}

function linkOf(file: string): string {
  try {
    return fs.readlinkSync(file)
  } catch {
    // Closed between listing and reading.
    return ''
  }
}

/** Returns the growth of a value per minute: the slope of the least-squares line through at least two measurements. */
export function slope(weights: readonly Weight[], of: (weight: Weight) => number): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [at, value] = [mean(weights.map((one) => one.at)), mean(weights.map(of))]
  const over = weights.reduce((sum, one) => sum + (one.at - at) * (of(one) - value), 0)
  const under = weights.reduce((sum, one) => sum + (one.at - at) ** 2, 0)
  return under === 0 ? 0 : (over / under) * 60_000
}

/** Returns the total size of all files below a directory, in bytes. */
export function bytesBelow(directory: string): number {
  let sum = 0
  for (const entry of entriesIn(directory)) {
    const name = `${directory}/${entry.name}`
    if (entry.isDirectory()) sum += bytesBelow(name)
    // A file may be removed between listing and stat.
    else if (entry.isFile()) sum += fs.statSync(name, { throwIfNoEntry: false })?.size ?? 0
  }
  return sum
}

/** Returns an empty list for a missing directory. */
function entriesIn(directory: string): fs.Dirent[] {
  try {
    return fs.readdirSync(directory, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
