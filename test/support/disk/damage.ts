/**
 * Damage that disks, cleanup tools and people do to one file or directory, and the kinds that each damage applies to.
 */
import fs from 'node:fs'
import path from 'node:path'

const GARBAGE = '\u0000\u0007 not what was written \u00ff\n'
const remove = (file: string) => fs.rmSync(file, { recursive: true })

export const DAMAGES = {
  missing: remove,
  'cut in half': (file: string) => fs.truncateSync(file, fs.statSync(file).size >> 1),
  emptied(file: string) {
    if (!fs.statSync(file).isDirectory()) return fs.truncateSync(file, 0)
    for (const name of fs.readdirSync(file)) remove(path.join(file, name))
  },
  garbage: (file: string) => fs.writeFileSync(file, GARBAGE),
  'a file'(file: string) {
    remove(file)
    fs.writeFileSync(file, GARBAGE, { mode: 0o600 })
  },
  'a directory'(file: string) {
    remove(file)
    fs.mkdirSync(path.join(file, 'something'), { recursive: true, mode: 0o700 })
  },
  'a link to nowhere'(file: string) {
    remove(file)
    fs.symlinkSync('/nowhere/at/all', file)
  },
} as const
export type Damage = keyof typeof DAMAGES

export type Kind = 'file' | 'directory' | 'socket' | 'lock'
export const DAMAGES_OF: Readonly<Record<Kind, readonly Damage[]>> = {
  file: ['missing', 'cut in half', 'emptied', 'garbage', 'a directory', 'a link to nowhere'],
  directory: ['missing', 'emptied', 'a file', 'a link to nowhere'],
  socket: ['missing', 'a file', 'a directory', 'a link to nowhere'],
  // An empty directory.
  lock: ['missing', 'a file', 'a link to nowhere'],
}

/** Returns all paths in a home, relative to it. */
export function pathsIn(root: string): string[] {
  return fs
    .readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => name.split(path.sep).join('/'))
    .toSorted()
}
