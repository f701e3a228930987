/**
 * Whether git tracks a file, or files of a folder, by the index of the work tree around it. Reading never rewrites such a
 * file: otherwise a merge or a checkout would leave a work tree with changes that nobody made.
 */
import fs from 'node:fs'
import path from 'node:path'
import { nearestGit } from '../../system/git-place.ts'

interface Index {
  stamp: string
  bytes: Buffer
}

const VERSION_AT = 4
/** From this version on the index holds only what differs from the path before. */
const COMPRESSED_VERSION = 4

/** Looks at the index again only when it has changed. */
export function trackedLook(at: string): () => boolean {
  let known: Index | null = null
  return () => {
    try {
      const top = nearestGit(path.dirname(at))
      if (top === null) return false
      const file = path.join(gitFolder(top), 'index')
      const { ino, size, mtimeMs } = fs.statSync(file)
      const stamp = `${file} ${ino} ${size} ${mtimeMs}`
      if (known?.stamp !== stamp) known = { stamp, bytes: fs.readFileSync(file) }
      const { bytes } = known
      if (bytes.length > VERSION_AT + 4 && bytes.readUInt32BE(VERSION_AT) >= COMPRESSED_VERSION) return true
      const name = path.relative(top, at).replaceAll(path.sep, '/')
      return bytes.includes(`${name}\0`) || bytes.includes(`${name}/`)
    } catch {
      // No index, or one that cannot be read.
      return false
    }
  }
}

/** `.git` is a file in a submodule and in a linked work tree. */
function gitFolder(top: string): string {
  const git = path.join(top, '.git')
  if (fs.statSync(git).isDirectory()) return git
  const named = /^gitdir: (.+)$/m.exec(fs.readFileSync(git, 'utf8'))?.[1] ?? ''
  return path.resolve(top, named)
}
