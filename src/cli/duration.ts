/** How long something is to last, as options say it. */
import { InvalidArgumentError } from 'commander'

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const

/** `90s`, `30m`, `1h`, `7d`, or bare seconds. */
export function parseDuration(text: string): number {
  const match = /^(\d{1,9})([smhd]?)$/.exec(text)
  const seconds = match ? Number(match[1]) * SECONDS[(match[2] || 's') as keyof typeof SECONDS] : 0
  if (seconds > 0) return seconds
  throw new InvalidArgumentError('It must be a duration such as 90s, 30m, 1h or 7d.')
}
