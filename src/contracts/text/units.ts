/** Formats limits for use in sentences. */

const KIB = 1024
const MIB = 1024 * KIB

export const inSeconds = (ms: number): string => `${ms / 1000} s`

export const inMinutes = (ms: number): string => `${ms / 60_000} min`

export function inBytes(bytes: number): string {
  if (bytes % MIB === 0) return `${bytes / MIB} MiB`
  return bytes % KIB === 0 ? `${bytes / KIB} KiB` : `${bytes} bytes`
}
