/** Identity of a file or directory, to distinguish it from a later one with the same name. */
import fs from 'node:fs'

/** Returns null if it does not exist. Writing into it does not change its identity. */
export function fileIdentity(file: string): string | null {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false, bigint: true })
  return stat === undefined ? null : `${stat.ino} ${stat.birthtimeNs}`
}
