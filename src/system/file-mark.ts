/** What tells a file or a directory from one that was made later under its name. */
import fs from 'node:fs'

/** Null where there is none. What is written into it does not change it. */
export function markOf(file: string): string | null {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false, bigint: true })
  return stat === undefined ? null : `${stat.ino} ${stat.birthtimeNs}`
}
