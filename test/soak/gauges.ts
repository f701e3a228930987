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

/** How much a value grows in a minute: the line of least squares through what was weighed. */
export function slope(weights: readonly Weight[], of: (weight: Weight) => number): number {
  if (weights.length < 2) return 0
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [at, value] = [mean(weights.map((one) => one.at)), mean(weights.map(of))]
  const over = weights.reduce((sum, one) => sum + (one.at - at) * (of(one) - value), 0)
  const under = weights.reduce((sum, one) => sum + (one.at - at) ** 2, 0)
  return under === 0 ? 0 : (over / under) * 60_000
}

/** Bytes of all files below a directory. */
export function bytesBelow(directory: string): number {
  if (!fs.existsSync(directory)) return 0
  return fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => {
      // A file may be let go between the list and the look.
      const stat = fs.statSync(`${entry.parentPath}/${entry.name}`, { throwIfNoEntry: false })
      return sum + (stat?.size ?? 0)
    }, 0)
}
