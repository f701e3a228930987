/** Recognises the conflict markers that git writes around two sides it could not merge. */

const MARKER = /^(?:<{7}|>{7}|\|{7})(?: |\s*$)|^={7}\s*$/

/** Returns a reason for a line that is a conflict marker; null for any other line. */
export function conflictMarkerReason(line: string): string | null {
  return MARKER.test(line) ? 'the line marks an unresolved merge conflict' : null
}

export function hasConflictMarkers(text: string): boolean {
  return text.split('\n').some((line) => MARKER.test(line))
}

/** Returns both sides of a conflict, without their common base; the text itself if there is no conflict. */
export function splitSides(text: string): string[] {
  const lines = text.split('\n')
  if (!lines.some((line) => MARKER.test(line))) return [text]
  const ours: string[] = []
  const theirs: string[] = []
  let within: 'both' | 'ours' | 'base' | 'theirs' = 'both'
  for (const line of lines) {
    if (!MARKER.test(line)) {
      if (within === 'both' || within === 'ours') ours.push(line)
      if (within === 'both' || within === 'theirs') theirs.push(line)
    } else if (line.startsWith('<')) within = 'ours'
    else if (line.startsWith('|') && within === 'ours') within = 'base'
    // A forgotten `=======` outside of a conflict is ignored.
    else if (line.startsWith('=') && within !== 'both') within = 'theirs'
    else within = 'both'
  }
  return [ours.join('\n'), theirs.join('\n')]
}
