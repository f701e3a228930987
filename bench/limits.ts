/** Measures the limits of the machine: the baseline of the ratios. */
import fs from 'node:fs'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { median, micros } from './report/figures.ts'
import { ROOT } from './processes.ts'

/** Size at which a growing file is truncated, so that a long run does not fill the disk. */
const FILE_BYTES_MAX = 64 * 1024 * 1024

/**
 * Appends `bytes` to a growing file and syncs it, one after another. Returns the p50 in microseconds and the number per
 * second. Synchronous calls are the fastest ones in Node, because they avoid the thread pool.
 */
export function rawAppend(directory: string, bytes: number, ms: number): { p50_us: number; per_s: number } {
  const file = path.join(directory, `raw-append-${process.pid}`)
  const line = Buffer.alloc(bytes, 'x')
  const fd = fs.openSync(file, 'w', 0o600)
  const latencies: number[] = []
  try {
    const end = micros() + ms * 1000
    for (let at = 0; micros() < end; at = at > FILE_BYTES_MAX ? 0 : at + bytes) {
      const started = micros()
      fs.writeSync(fd, line, 0, bytes, at)
      fs.fdatasyncSync(fd)
      latencies.push(micros() - started)
    }
  } finally {
    fs.closeSync(fd)
    fs.rmSync(file)
  }
  const took_us = latencies.reduce((sum, one) => sum + one, 0)
  return { p50_us: median(latencies), per_s: (latencies.length * 1e6) / took_us }
}

/**
 * Returns appends per second and appends per sync of a plain group commit: `senders` loops each queue the next prepared
 * line when the last one is durable; the queued lines of one tick of the event loop become one write and one fdatasync.
 */
export async function rawGroupCommit(
  directory: string,
  bytes: number,
  senders: number,
  appends: number,
): Promise<{ per_s: number; batch_mean: number }> {
  const file = path.join(directory, `raw-group-${process.pid}`)
  const prepared = Buffer.alloc(bytes * senders, 'x')
  const fd = fs.openSync(file, 'w', 0o600)
  let position = 0
  let queued: (() => void)[] = []
  let committing = false
  let started = 0
  let commits = 0

  const commit = () => {
    const batch = queued
    queued = []
    const length = bytes * batch.length
    commits += 1
    fs.writeSync(fd, prepared, 0, length, position)
    position = position > FILE_BYTES_MAX ? 0 : position + length
    fs.fdatasync(fd, (error) => {
      if (error) throw error
      committing = false
      for (const durable of batch) durable()
    })
  }
  const append = (durable: () => void) => {
    queued.push(durable)
    if (committing) return
    committing = true
    setImmediate(commit)
  }
  const sender = () =>
    new Promise<void>((resolve) => {
      const next = () => {
        if (started === appends) return resolve()
        started += 1
        append(next)
      }
      next()
    })

  try {
    const begun = micros()
    await Promise.all(Array.from({ length: senders }, sender))
    return { per_s: (appends * 1e6) / (micros() - begun), batch_mean: appends / commits }
  } finally {
    fs.closeSync(fd)
    fs.rmSync(file)
  }
}

/** Returns the number of cache flushes of all disks so far; null if the system does not count them. */
export function diskFlushes(): number | null {
  try {
    const lines = fs.readFileSync('/proc/diskstats', 'utf8').trim().split('\n')
    // The eighteenth column after the two numbers and the name, since Linux 5.5; partitions lack it.
    return lines.reduce((sum, line) => sum + Number(line.trim().split(/\s+/)[18] ?? 0), 0)
  } catch {
    return null
  }
}

/** Returns the time from start to end of an empty node process, in milliseconds. */
export function bareNodeStart(): Promise<number> {
  const started = micros()
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['-e', ''], { cwd: ROOT, stdio: 'ignore' })
    child.once('error', reject)
    child.once('exit', () => resolve((micros() - started) / 1000))
  })
}

export const SPIN_MS = 300

/**
 * Returns the percentage of a short busy loop that other processes took; above a few percent the figures are
 * unreliable.
 */
export function stolenPercent(): number {
  const begun = micros()
  let last = begun
  let lost = 0
  while (last - begun < SPIN_MS * 1000) {
    const now = micros()
    if (now - last > 300) lost += now - last
    last = now
  }
  return Math.round(lost / SPIN_MS) / 10
}
