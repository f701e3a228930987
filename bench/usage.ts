/** Measures memory and processor use of processes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'

export interface Usage {
  rss_mib: number
  cpu_us: number
}

/** Returns the resident memory and the processor time of a running process, including all threads. */
export async function usage(pid: number): Promise<Usage> {
  if (process.platform !== 'linux') return usageFromPs(pid)
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
  const rss_kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
  // The first field of schedstat: nanoseconds on a processor. The ticks in stat have a resolution of 10 ms.
  const cpu_ns = fs.readdirSync(`/proc/${pid}/task`).reduce((sum, task) => {
    return sum + Number(fs.readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0])
  }, 0)
  return { rss_mib: rss_kib / 1024, cpu_us: cpu_ns / 1000 }
}

/**
 * Returns the result of `work`, and the processor use of that process during it, including all threads, in percent of
 * one core.
 */
export async function busyWhile<R>(
  pid: number,
  work: () => Promise<R>,
): Promise<{ done: R; cpu_percent: number }> {
  const before = await usage(pid)
  const began = performance.now()
  const done = await work()
  const { cpu_us } = await usage(pid)
  return { done, cpu_percent: (cpu_us - before.cpu_us) / (performance.now() - began) / 10 }
}

async function usageFromPs(pid: number): Promise<Usage> {
  const ps = spawn('ps', ['-o', 'rss=,time=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  ps.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await once(ps, 'close')
  const [rss_kib = '', time = ''] = text.trim().split(/\s+/)
  const seconds = time.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  return { rss_mib: Number(rss_kib) / 1024, cpu_us: seconds * 1e6 }
}
