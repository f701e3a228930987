/**
 * Work that was left in the code: the lines of tracked files, as they lie on disk, that a marker stands in.
 *
 * Only what git tracks is looked at, and no link is followed: not a file that is one, and none that only
 * seems to lie in the project because a directory above it was made one.
 */
import { HARMLESS } from './log.ts'
import { cut, fieldsOf, textOf, within } from './output.ts'
import type { Repository } from './repository.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Marker, MarkersAnswer } from '../../contracts/git.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { GitOutput } from '../../ports/git.ts'

export interface MarkersInput {
  path?: string | undefined
  markers: readonly string[]
  limit: number
}

export async function findMarkers(repository: Repository, input: MarkersInput): Promise<MarkersAnswer> {
  const below = ['--', placeIn(repository, input.path)]
  const words = [...new Set(input.markers)]
  const output = await repository.read(
    [
      ...['grep', '-z', '-I', '--line-number', '--word-regexp', '--fixed-strings', '--full-name'],
      ...['--no-color', '--no-column', '--no-textconv', '--no-recurse-submodules'],
      ...words.flatMap((word) => ['-e', word]),
      ...below,
    ],
    { partial: true, may_find_nothing: true },
  )
  const hits = readHits(output)
  if (hits.length === 0) return { markers: [], counts: {}, skipped: 0, truncated: output.stopped !== null }
  const passed_over = await passedOver(repository, below, new Set(hits.map(({ file }) => file)))
  const found = hits
    .filter(({ file }) => !passed_over.has(file))
    .flatMap(({ text, ...where }): Marker[] => {
      const marker = firstOf(words, text)
      const shown = cut(text.trim())
      return marker === null
        ? []
        : [{ ...where, marker, text: shown.text, ...(shown.cut ? { text_cut: true } : {}) }]
    })
  const { kept, truncated } = within(found, input.limit)
  return {
    markers: kept,
    counts: countsOf(found),
    skipped: passed_over.size,
    truncated: truncated || output.stopped !== null,
  }
}

/** The project, or what lies in it. Throws `params_invalid` for a path beside it. */
function placeIn(repository: Repository, given: string | undefined): string {
  const { prefix, top } = repository
  const project = prefix === '' ? '.' : prefix.slice(0, -1)
  const place = given === undefined ? project : repository.inside(given)
  if (project === '.' || place === project || place.startsWith(`${project}/`)) return place
  throw new TurnbellError('params_invalid', {
    detail: `path: ${JSON.stringify(given)} lies outside of the project, which is ${project} in ${top}.`,
    hint: 'Name it relative to the top of the work tree.',
  })
}

interface Hit {
  file: string
  line: number
  text: string
}

/** What `grep -z --line-number` says: a path and a line's number, each with a NUL at its end, then the line. */
export function readHits({ stdout }: Pick<GitOutput, 'stdout'>): Hit[] {
  const told = textOf(stdout)
  const hits: Hit[] = []
  for (let at = 0; ;) {
    const name = told.indexOf('\0', at)
    const number = told.indexOf('\0', name + 1)
    const end = told.indexOf('\n', number + 1)
    // Output that was stopped ends in the middle of one.
    if (name === -1 || number === -1 || end === -1) return hits
    const [file, text] = [told.slice(at, name), told.slice(number + 1, end)]
    const line = Number(told.slice(name + 1, number))
    if (Number.isSafeInteger(line)) hits.push({ file, line, text })
    at = end + 1
  }
}

/** Of these files the ones that are too large, or are no files of the work tree any more. */
async function passedOver(
  repository: Repository,
  below: readonly string[],
  files: ReadonlySet<string>,
): Promise<Set<string>> {
  const gone = fieldsOf(
    await repository.read(['diff-files', '-z', '--name-only', '--diff-filter=DT', ...HARMLESS, ...below]),
  )
  const blobs = new Map<string, string[]>()
  for (const entry of fieldsOf(await repository.read(['ls-files', '-z', '--stage', ...below]))) {
    const [, blob = '', file = ''] = /^\d+ ([0-9a-f]+) \d\t(.*)$/s.exec(entry) ?? []
    if (files.has(file)) blobs.set(blob, [...(blobs.get(blob) ?? []), file])
  }
  const sizes = textOf(
    (
      await repository.read(['cat-file', '--batch-check=%(objectname) %(objectsize)'], {
        input: [...blobs.keys()].map((blob) => `${blob}\n`).join(''),
      })
    ).stdout,
  )
  const large = sizes.split('\n').flatMap((line) => {
    const [blob = '', size] = line.split(' ')
    return Number(size) > LIMITS.git_scanned_file_bytes_max ? (blobs.get(blob) ?? []) : []
  })
  return new Set([...gone, ...large].filter((file) => files.has(file)))
}

/** A word is one where nothing around it could belong to it, which is what git means by one. */
function firstOf(words: readonly string[], text: string): string | null {
  let [first, first_at]: [string | null, number] = [null, Infinity]
  for (const word of words) {
    for (let at = text.indexOf(word); at !== -1 && at < first_at; at = text.indexOf(word, at + 1)) {
      if (WORDS.test(text.charAt(at - 1)) || WORDS.test(text.charAt(at + word.length))) continue
      ;[first, first_at] = [word, at]
    }
  }
  return first
}

const WORDS = /\w/

function countsOf(found: readonly Marker[]): Record<string, number> {
  const counts = new Map<string, number>()
  for (const { marker } of found) counts.set(marker, (counts.get(marker) ?? 0) + 1)
  return Object.fromEntries(counts)
}
