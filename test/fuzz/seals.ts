/**
 * Removes the checksums of journal lines for mutation, because mutations cannot produce valid ones, and adds them
 * again.
 */
import { SEAL_BYTES, sealLine } from '../../src/storage/file/journal/sealed-line.ts'

export function unsealed(journal: Uint8Array): string {
  return Buffer.from(journal)
    .toString()
    .replaceAll(/,"crc":"[0-9a-f]{8}"\}$/gm, '}')
}

/** `line` ends before its closing brace. */
export function sealed(line: Uint8Array): Buffer {
  const whole = Buffer.alloc(line.length + SEAL_BYTES)
  whole.set(line)
  sealLine(whole, 0, line.length)
  return whole
}
