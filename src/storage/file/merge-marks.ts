/** The lines by which git tells two sides apart that it could not merge. */

const MARK = /^(?:<{7}|>{7}|\|{7})(?: |\s*$)|^={7}\s*$/

/** Why such a line is no record; null for any other. */
export function markOfMerge(line: string): string | null {
  return MARK.test(line) ? 'it marks an unresolved merge conflict' : null
}

export function hasMarks(text: string): boolean {
  return text.split('\n').some((line) => MARK.test(line))
}

/** The text as either side has it; what both came from is left out. One text where there is no conflict. */
export function sidesOf(text: string): string[] {
  const lines = text.split('\n')
  if (!lines.some((line) => MARK.test(line))) return [text]
  const ours: string[] = []
  const theirs: string[] = []
  let within: 'both' | 'ours' | 'base' | 'theirs' = 'both'
  for (const line of lines) {
    if (!MARK.test(line)) {
      if (within === 'both' || within === 'ours') ours.push(line)
      if (within === 'both' || within === 'theirs') theirs.push(line)
    } else if (line.startsWith('<')) within = 'ours'
    else if (line.startsWith('|') && within === 'ours') within = 'base'
    // One that somebody forgot to take out divides nothing.
    else if (line.startsWith('=') && within !== 'both') within = 'theirs'
    else within = 'both'
  }
  return [ours.join('\n'), theirs.join('\n')]
}
