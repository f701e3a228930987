/** Selects the part of a long proof that a commit runs, so that a few commits together run all of it. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../../..')

/** Returns a part number from 1 to `parts`, chosen by the hash of HEAD, or of package-lock.json without git. */
export function partOfCommit(parts) {
  return (Number.parseInt(hashOfCommit().slice(0, 8), 16) % parts) + 1
}

function hashOfCommit() {
  const { status, stdout } = spawnSync('git', ['rev-parse', '--verify', 'HEAD'], {
    cwd: root,
    encoding: 'utf8',
  })
  if (status === 0) return stdout.trim()
  return createHash('sha1')
    .update(fs.readFileSync(path.join(root, 'package-lock.json')))
    .digest('hex')
}

/** Parses `2/5`. Returns `{number, of}`; throws for any other text. */
export function partIn(text) {
  const [, number, of] = (/^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? []).map(Number)
  if (!(number >= 1 && number <= of))
    throw new Error(`--part: ${JSON.stringify(text)} is not a part such as 2/5`)
  return { number, of }
}

/** Returns every n-th item, so that each part covers the whole list. */
export function itemsOf(items, { number, of }) {
  return items.filter((_, index) => index % of === number - 1)
}
