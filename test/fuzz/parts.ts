/** Splits inputs that consist of several parts in sequence: files, or responses. */

/** Separator between two parts. */
export const NEXT = '\u0001\n'

/** Returns the parts as bytes; parts after `parts_max` are dropped. */
export function partsOf(input: Buffer, parts_max = Infinity): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at <= input.length && parts.length < parts_max;) {
    const found = input.indexOf(NEXT, at)
    const end = found === -1 ? input.length : found
    parts.push(input.subarray(at, end))
    at = end + NEXT.length
  }
  return parts
}

export function inOne(parts: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(parts.flatMap((part, at) => [Buffer.from(at === 0 ? '' : NEXT), Buffer.from(part)]))
}
