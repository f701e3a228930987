/** Senders in a closed loop, each with one send in flight; the same for every server. */
import { median, micros, percentile } from './report/figures.ts'

export interface Bounds {
  /** Ends after this time, or after this number of sends of all senders together. */
  ms: number
  sends?: number
}

export interface RunResult {
  elapsed_us: number
  sends_per_s: number
  p50_us: number
  p99_us: number
  /** Processor use of this process, in percent of one core. */
  cpu_percent: number
}

/** `check` throws for a response that does not confirm the send. */
export async function sendInLoops(
  senders: readonly { send(): Promise<string> }[],
  check: (answer: string) => void,
  { ms, sends = Infinity }: Bounds,
): Promise<RunResult> {
  const latencies: number[] = []
  const cpu = process.cpuUsage()
  const started = micros()
  const end = started + ms * 1000
  let left = sends
  await Promise.all(
    senders.map(async (sender) => {
      for (let last = micros(); last < end && left > 0;) {
        left -= 1
        const answer = await sender.send()
        const now = micros()
        latencies.push(now - last)
        check(answer)
        last = now
      }
    }),
  )
  const elapsed_us = micros() - started
  const { user, system } = process.cpuUsage(cpu)
  return {
    elapsed_us,
    sends_per_s: (latencies.length * 1e6) / elapsed_us,
    p50_us: median(latencies),
    p99_us: percentile(latencies, 0.99),
    cpu_percent: (100 * (user + system)) / elapsed_us,
  }
}
