/** Creates a ULID from a time and a number that makes it unique. */
import { ulid } from 'ulid'

export function timedUlid(time: number, n: number): string {
  const tail = n
    .toString(32)
    .toUpperCase()
    .replace(/[ILOU]/g, 'Z')
  return `${ulid(Math.max(time, 0)).slice(0, 10)}${tail.padStart(16, '0')}`
}
