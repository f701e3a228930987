/** Durations in option values. */
import { InvalidArgumentError } from 'commander'

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const

/** Parses `90s`, `30m`, `1h`, `7d` or plain seconds. Returns seconds. */
export function parseDuration(text: string): number {
  const match = /^(\d{1,9})([smhd]?)$/.exec(text)
  const seconds = match ? Number(match[1]) * SECONDS[(match[2] || 's') as keyof typeof SECONDS] : 0
  if (seconds > 0) return seconds
  throw new InvalidArgumentError('It must be a duration such as 90s, 30m, 1h or 7d.')
}
