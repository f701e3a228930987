/**
 * Checks whether git tracks a file, or files of a folder, by reading the index of the surrounding work tree. A read never
 * rewrites a tracked file; otherwise a merge or a checkout would leave changes that no person made.
 */
import fs from 'node:fs'
import path from 'node:path'
import { nearestGit } from '../../../system/git/git-query.ts'
import { readPlainFile } from '../../../system/files/safe-read.ts'

interface Index {
  stamp: string
  bytes: Buffer
}

/** An index of a million files takes a tenth of this. */
const INDEX_BYTES_MAX = 1024 * 1024 * 1024
const GIT_FILE_BYTES_MAX = 8_192

const VERSION_AT = 4
/** From this version on, paths in the index are prefix-compressed. */
const COMPRESSED_VERSION = 4

/** Returns a check that rereads the index only after it has changed. */
export function createTrackedCheck(at: string): () => boolean {
  let cached: Index | null = null
  return () => {
    try {
      const top = nearestGit(path.dirname(at))
      if (top === null) return false
      const file = path.join(gitFolder(top), 'index')
      const { ino, size, mtimeMs } = fs.lstatSync(file)
      const stamp = `${file} ${ino} ${size} ${mtimeMs}`
      if (cached?.stamp !== stamp) {
        const bytes = readPlainFile(file, INDEX_BYTES_MAX)
        if (bytes === null) return false
        // If the index cannot be read, the file counts as tracked.
        if (!Buffer.isBuffer(bytes)) return true
        cached = { stamp, bytes }
      }
      const { bytes } = cached
      if (bytes.length > VERSION_AT + 4 && bytes.readUInt32BE(VERSION_AT) >= COMPRESSED_VERSION) return true
      const name = path.relative(top, at).replaceAll(path.sep, '/')
      return bytes.includes(`${name}\0`) || bytes.includes(`${name}/`)
    } catch {
      // There is no repository or no index.
      return false
    }
  }
}

/** Returns the git directory; `.git` is a file in a submodule and in a linked work tree. */
function gitFolder(top: string): string {
  const git = path.join(top, '.git')
  if (fs.statSync(git).isDirectory()) return git
  const read = readPlainFile(git, GIT_FILE_BYTES_MAX)
  const git_dir = /^gitdir: (.+)$/m.exec(Buffer.isBuffer(read) ? read.toString() : '')?.[1] ?? ''
  return path.resolve(top, git_dir)
}
