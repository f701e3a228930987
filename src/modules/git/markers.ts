/**
 * Lines with markers such as TODO in tracked files, as they are on disk.
 *
 * Only tracked files are read, and no links are followed, neither files nor directories that became links.
 */
import { cut, fieldsOf, textOf, within } from './output.ts'
import type { Repository } from './repository.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Marker, MarkersAnswer } from '../../contracts/git.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'

export interface MarkersInput {
  path?: string | undefined
  markers: readonly string[]
  limit: number
}

/** Git only lists the files. They are read here, because git follows links. */
export async function findMarkers(repository: Repository, input: MarkersInput): Promise<MarkersAnswer> {
  const words = [...new Set(input.markers)]
  const output = await repository.read(
    [
      ...['grep', '-z', '-I', '--files-with-matches', '--word-regexp', '--fixed-strings', '--full-name'],
      ...['--no-color', '--no-textconv', '--no-recurse-submodules'],
      ...words.flatMap((word) => ['-e', word]),
      ...['--', placeIn(repository, input.path)],
    ],
    { partial: true, may_find_nothing: true },
  )
  const found: Marker[] = []
  let skipped = 0
  for (const file of fieldsOf(output)) {
    const read = await repository.readFile(file, LIMITS.git_scanned_file_bytes_max)
    if ('reason' in read) skipped += read.too_large ? 1 : 0
    // The path contains a link to a file with another name.
    else if (read.path === file) found.push(...markersIn(file, read.bytes, words))
  }
  const { kept, truncated } = within(found, input.limit)
  return {
    markers: kept,
    counts: countsOf(found),
    skipped,
    truncated: truncated || output.stopped !== null,
  }
}

function markersIn(file: string, bytes: Uint8Array, words: readonly string[]): Marker[] {
  if (bytes.subarray(0, BINARY_LOOK_BYTES).includes(0)) return []
  return textOf(bytes)
    .split('\n')
    .flatMap((line, at): Marker[] => {
      const marker = firstOf(words, line)
      if (marker === null) return []
      const shown = cut(line.trim())
      return [{ file, line: at + 1, marker, text: shown.text, ...(shown.cut ? { text_cut: true } : {}) }]
    })
}

/** A file with a NUL in its first bytes is binary, as in git. */
const BINARY_LOOK_BYTES = 8_000

/** Returns the project or a path inside it. Throws `params_invalid` for any other path. */
function placeIn(repository: Repository, given: string | undefined): string {
  const { prefix, top } = repository
  const project = prefix === '' ? '.' : prefix.slice(0, -1)
  const place = given === undefined ? project : repository.onDisk(given)
  if (project === '.' || place === project || place.startsWith(`${project}/`)) return place
  throw new TurnbellError('params_invalid', {
    detail: `path: ${JSON.stringify(given)} is outside the project ${project} in ${top}.`,
    hint: 'Pass a path relative to the top of the work tree.',
  })
}

/** Matches whole words as git defines them. */
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
